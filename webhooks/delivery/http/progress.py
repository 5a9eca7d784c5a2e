"""Progress of a request to a receiver, and the guard that it is not written too late."""

import asyncio
import socket
import struct
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from django.conf import settings

from webhooks.delivery.moments import Moment

# SO_LINGER, on, with 0 seconds: closing the connection throws its unsent bytes away.
AT_ONCE = struct.pack("ii", 1, 0)


class TooLate(Exception):
    """The request was not written: it is late, and another process may have sent the delivery."""


@dataclass(slots=True)
class Progress:
    """The progress of one request.

    :param claimed_at: a moment at or before the beginning of the delivery's lease.
    :param began: the beginning of the attempt; the process may have been suspended in between.
    :param is_on_an_old_connection: the connection has carried another request before.
    """

    claimed_at: Moment
    began: Moment
    is_connected: bool = False
    is_on_an_old_connection: bool = False
    transport: asyncio.Transport | None = None

    @property
    def is_late(self) -> bool:
        lasts = settings.WEBHOOK_TIMEOUT_SECONDS
        is_over = self.began.age_seconds > lasts
        return is_over or self.claimed_at.age_seconds > lasts + spare_seconds() / 2

    def break_off(self) -> None:
        """Abort the connection; bytes that the receiver has not read yet are thrown away."""
        if self.transport is None:
            return
        if wire := self.transport.get_extra_info("socket"):
            with suppress(OSError):  # It is closed already.
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.transport.abort()


# The progress of the request that this task makes. aiohttp's own way, tracing, calls a function at
# each of ten steps, which takes about a tenth of a delivery's time.
_progress: ContextVar[Progress] = ContextVar("progress")
# The connections that have carried a request.
_old: WeakSet[ResponseHandler] = WeakSet()


class TimelyRequest(aiohttp.ClientRequest):
    """A request that notes its progress, and is not written once its time is over.

    A process that was suspended goes on where it was. By then the lease may have ended, and
    another process may have sent this delivery and the lane's next one.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        progress, protocol = _progress.get(), conn.protocol
        progress.is_connected, progress.is_on_an_old_connection = True, protocol in _old
        progress.transport = conn.transport
        if protocol is not None:
            _old.add(protocol)
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        # Checked here and not in `send`: this is a task of its own, which runs after those of all
        # other requests. It writes head and body at once, without another task in between.
        if _progress.get().is_late and conn.protocol is not None:
            conn.protocol.set_exception(TooLate())
        else:
            await super().write_bytes(writer, conn, content_length)


def begin_request(claimed_at: Moment) -> Progress:
    """Return the progress of the request that this task is about to make.

    :param claimed_at: a moment at or before the beginning of the delivery's lease.
    """
    progress = Progress(claimed_at, Moment.now())
    _progress.set(progress)
    return progress


def spare_seconds() -> float:
    """Return the time that a lease has besides the attempt: to start, hold back and write it."""
    return settings.WEBHOOK_LEASE_SECONDS - settings.WEBHOOK_TIMEOUT_SECONDS
