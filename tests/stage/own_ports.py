"""Ports that no other worker of the tests is about to take."""

import socket
from contextlib import ExitStack


def own_ports(*variables: str) -> dict[str, str]:
    """Return a port for each variable, as the kernel gives them to those who ask for any.

    Two who look for the first free one at the same time would find the same.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in variables]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [str(one.getsockname()[1]) for one in sockets]
    return dict(zip(variables, ports, strict=True))
