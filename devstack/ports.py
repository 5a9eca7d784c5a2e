"""Ports on the loopback address, for servers that this machine's developer starts."""

import os
import socket

from devstack.state import CannotContinue

TRIED = 20
# A server that takes the socket over leaves its queue as it is; this is gunicorn's own default.
BACKLOG = 2048


def take_port(*, variable: str, first: int) -> socket.socket:
    """Return a socket that listens at the port that the environment names, or the first free one.

    No other process can have it from now on: two launchers that start at once both come up.

    :raises CannotContinue: the named port is taken, or all are.
    """
    named = os.environ.get(variable)
    if named:
        if not named.isdecimal() or not 0 < int(named) < 65_536:
            raise CannotContinue(f"{variable}={named} is not a port.")
        if listener := _listen(int(named)):
            return listener
        raise CannotContinue(f"Port {named} is in use; choose another {variable}, or leave it out.")
    for port in range(first, first + TRIED):
        if listener := _listen(port):
            return listener
    raise CannotContinue(
        f"Ports {first} to {first + TRIED - 1} are all in use; choose one: {variable}=…"
    )


def free_port(*, variable: str, first: int) -> int:
    """Return such a port for a server that opens its socket itself; it is not kept until then.

    :raises CannotContinue: the named port is taken, or all are.
    """
    with take_port(variable=variable, first=first) as listener:
        return number_of(listener)


def number_of(listener: socket.socket) -> int:
    return listener.getsockname()[1]


def _listen(port: int) -> socket.socket | None:
    # A port whose last connections are still closing is free. Of two that bind it at the same
    # moment only one may listen.
    try:
        return socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    except OSError:
        return None
