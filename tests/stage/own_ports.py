"""Ports that nobody else is about to take: no other worker of the tests, and no connection."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

# The kernel gives these ports to connections, also to those that are made between now and the start
# of the server that is to listen.
OF_CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")
ALL = range(10_000, 65_536)


def own_ports(*variables: str) -> dict[str, str]:
    """Return a free port for each variable, by chance.

    Two who look for the first free one at the same time would find the same.
    """
    first, last = map(int, OF_CONNECTIONS.read_text().split())
    others = [port for port in ALL if not first <= port <= last] or ALL
    ports: list[str] = []
    with ExitStack() as stack:
        for port in random.SystemRandom().sample(others, len(others)):
            if len(ports) == len(variables):
                return dict(zip(variables, ports, strict=True))
            one = stack.enter_context(socket.socket())
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(str(port))
    raise RuntimeError("no port is free")


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections: it is bound, and nobody listens or can take it meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
