"""How far a request of ours came, and that it is not written once its time is over."""

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

from webhooks.moments import Moment

# A closed connection's last bytes are not waited for, but thrown away: on, for 0 seconds.
AT_ONCE = struct.pack("ii", 1, 0)


class TooLate(Exception):
    """Nothing was written: its time was over, and somebody else may have sent it meanwhile."""


@dataclass(slots=True)
class Trip:
    """How far a request came.

    :param claimed_at: when somebody took it up who stood still since, perhaps.
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
        """Send nothing more of it, not even what the system has taken but nobody has read."""
        if self.transport is None:
            return
        if wire := self.transport.get_extra_info("socket"):
            with suppress(OSError):  # It is closed already.
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.transport.abort()


# Of the request that this task makes. aiohttp's own way, tracing, calls a function of its own at
# each of ten steps: about a tenth of what a delivery takes.
_trip: ContextVar[Trip] = ContextVar("trip")
# The connections that have carried a request.
_old: WeakSet[ResponseHandler] = WeakSet()


class TimelyRequest(aiohttp.ClientRequest):
    """A request that notes how far it came, and is not written once its time is over.

    A process that stood still goes on where it was before it looks at the clock; by then
    somebody else may have sent this delivery, and the next.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        trip, protocol = _trip.get(), conn.protocol
        trip.is_connected, trip.is_on_an_old_connection = True, protocol in _old
        trip.transport = conn.transport
        if protocol is not None:
            _old.add(protocol)
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        # Here and not in `send`: this is a task of its own, whose turn comes after those of all
        # other requests, and head and body leave together in it, with no turn in between.
        if _trip.get().is_late and conn.protocol is not None:
            conn.protocol.set_exception(TooLate())
        else:
            await super().write_bytes(writer, conn, content_length)


def begin(claimed_at: Moment) -> Trip:
    """Return the trip of the request that this task is about to make.

    :param claimed_at: a moment no later than the beginning of the delivery's lease.
    """
    trip = Trip(claimed_at, Moment.now())
    _trip.set(trip)
    return trip


def spare_seconds() -> float:
    """Return what the lease has beside the attempt: to begin, to hold back, to write down."""
    return settings.WEBHOOK_LEASE_SECONDS - settings.WEBHOOK_TIMEOUT_SECONDS
