"""The current request as the web server saw it come.

Its waiting time, its client's presence, and the headers that WSGI has joined since.

Outside of a web process there is none, and nothing here refuses.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass

from core.errors import Overloaded
from core.traffic import traffic


class ClientHungUp(Overloaded):
    """Leaves a request before its work begins; its client has gone and reads no answer."""

    message = "The client hung up before its request was begun; nothing was done."


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a request came.

    :param at: when it could be read (`time.monotonic`), not when its connection was opened.
    :param waited_seconds: how long it then waited for a thread.
    :param has_hung_up: looks whether its client has left.
    :param repeated_headers: headers of one value that came more than once, `Idempotency-Key`.
    """

    at: float
    waited_seconds: float
    has_hung_up: Callable[[], bool]
    repeated_headers: tuple[str, ...] = ()


_current: ContextVar[Arrival | None] = ContextVar("arrival", default=None)


def note(arrival: Arrival) -> Token[Arrival | None]:
    """Say how the request that this thread serves came; `forget` takes what is returned."""
    return _current.set(arrival)


def forget(token: Token[Arrival | None]) -> None:
    _current.reset(token)


def began_at() -> float:
    """Return when the current request arrived (`time.monotonic`); now, outside of any."""
    arrival = _current.get()
    return arrival.at if arrival else time.monotonic()


def waited_seconds() -> float:
    """Return how long the current request waited for a thread."""
    arrival = _current.get()
    return arrival.waited_seconds if arrival else 0.0


def repeated_headers() -> tuple[str, ...]:
    """Return the headers of one value that the current request has more than once."""
    arrival = _current.get()
    return arrival.repeated_headers if arrival else ()


def require_turn(*, within_seconds: float) -> None:
    """Refuse a request that came to its turn late: its client may have given up by now.

    :raises Overloaded: it waited for a thread for longer.
    """
    if waited_seconds() > within_seconds:
        traffic.refused_by_age()
        raise Overloaded


def require_client() -> None:
    """Refuse a request whose client has gone; call it just before the first change is made.

    :raises ClientHungUp: the client has closed its connection.
    """
    arrival = _current.get()
    if arrival and arrival.has_hung_up():
        raise ClientHungUp
