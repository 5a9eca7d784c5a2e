"""Connections to Redis with one time budget, from the look-up of the name to the answer.

redis-py gives every step its own time-out (each address, the log-in, the command), and
the look-up of a name none.
"""

import socket
import time
from concurrent.futures import Future
from threading import Thread
from typing import Any

from redis.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.sentinel import SentinelManagedConnection

BUDGET_SECONDS = 0.1
# Of the budget, for each Sentinel that is asked: three of them may be asked in turn.
SENTINELS_PART = 0.3
# A step gets at least this long, even if this process was too busy to begin it earlier.
LEAST_SECONDS = 0.01


class _Prompt(AbstractConnection):
    _deadline = 0.0

    # Of the whole budget.
    part = 1.0

    def connect(self) -> None:
        # The pool calls this first, for every command, on a live connection too.
        self._begin()
        super().connect()  # type: ignore[no-untyped-call]

    def _begin(self) -> None:
        self._deadline = time.monotonic() + BUDGET_SECONDS * self.part

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        if wire := self._get_socket():
            wire.settimeout(self._seconds_left())
        super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    def _seconds_left(self) -> float:
        return max(LEAST_SECONDS, self._deadline - time.monotonic())


class PromptUnixConnection(_Prompt, UnixDomainSocketConnection):
    """Over a Unix socket."""


class PromptConnection(_Prompt, Connection):
    """Over TCP."""

    def _connect(self) -> socket.socket:
        places = _addresses(self.host, self.port, seconds=self._seconds_left())
        problem = OSError("the name has no address")
        for number, place in enumerate(places):
            # The next address gets its share: the first may be one that swallows everything.
            share = self._seconds_left() / (len(places) - number)
            try:
                wire = socket.create_connection(place, timeout=share)
            except OSError as refusal:
                problem = refusal
                continue
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return wire
        raise problem


class PromptTlsConnection(SSLConnection, PromptConnection):
    """Over TLS; reading the trusted certificates takes this process's time, not the budget's."""


class AskedConnection(PromptConnection):
    """To a Sentinel."""

    part = SENTINELS_PART


class AskedTlsConnection(PromptTlsConnection):
    """To a Sentinel over TLS."""

    part = SENTINELS_PART


class _Led(SentinelManagedConnection, PromptConnection):
    def connect(self) -> None:
        self._begin()
        super().connect()  # type: ignore[no-untyped-call]


class LedConnection(_Led):
    """To the server that leads, as the Sentinels say."""


class LedTlsConnection(_Led, PromptTlsConnection):
    """To the server that leads, over TLS."""


def _addresses(host: str, port: int, *, seconds: float) -> list[tuple[str, int]]:
    """Return the name's addresses."""
    answer: Future[list[tuple[str, int]]] = Future()
    # The resolver takes no time-out; a thread that waits for it can be left behind.
    Thread(target=_resolve, args=(host, port, answer), daemon=True).start()
    return answer.result(seconds)


def _resolve(host: str, port: int, answer: Future[list[tuple[str, int]]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        answer.set_exception(problem)
    else:
        answer.set_result([(str(place[0]), int(place[1])) for *_rest, place in found])
