"""Free ports on the loopback address."""

import os
import socket

from devstack.state import CannotContinue

TRIED = 20


def free_port(*, variable: str, first: int) -> int:
    """Return the port that the environment names, or the first free one.

    Tried by binding, before anything is started: a probe of a taken port would be
    answered by the stranger who has it.

    :raises CannotContinue: the named port is taken, or all are.
    """
    named = os.environ.get(variable)
    if named:
        if not named.isdecimal() or not 0 < int(named) < 65_536:
            raise CannotContinue(f"{variable}={named} is not a port.")
        if not _is_free(int(named)):
            raise CannotContinue(
                f"Port {named} is in use; choose another {variable}, or leave it out."
            )
        return int(named)
    for port in range(first, first + TRIED):
        if _is_free(port):
            return port
    raise CannotContinue(
        f"Ports {first} to {first + TRIED - 1} are all in use; choose one: {variable}=…"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
