"""The receiver: answers deliveries as fast as it can, and knows which came when.

A process of its own: `python -m bench.webhooks_receiver PORT TLS_PORT CERTIFICATE`. Deliveries
are kept by the first part of their path: `POST /hang/…` is never answered, `GET /count/steady`
and `GET /seen/steady` list what came to `/steady/…`.
"""

import asyncio
import json
import ssl
import sys
import time
from collections import defaultdict
from typing import cast

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
OK_AND_CLOSE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HANGING = "hang"
EVENT_ID, LENGTH = b"\r\npf-event-id: ", b"\r\ncontent-length: "
BACKLOG = 1024

# By the first part of the path: each event's id, and when the first byte of it came (unix time).
seen: dict[str, list[tuple[str, float]]] = defaultdict(list)


class Connection(asyncio.Protocol):
    """One connection; a lean one, since it shares the machine with what is measured."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._received = b""
        self._began_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A server's connections are always written to; the base class knows pipes too.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._began_at = time.time()
        self._received += data
        head, mark, content = self._received.partition(b"\r\n\r\n")
        if not mark:
            return
        # Case does not matter in names of headers; ids of events are kept as they are.
        small = head.lower()
        if len(content) >= int(_field(small, head, LENGTH) or 0):
            self._received = b""  # The sender asks one thing at a time.
            self._take(head, _field(small, head, EVENT_ID))

    def _take(self, head: bytes, event_id: str) -> None:
        method, path, _rest = head.decode("latin-1").split(" ", 2)
        which, _, name = path[1:].partition("/")
        if method == "GET":
            self._transport.write(_told(which, name))
            return
        seen[which].append((event_id, self._began_at))
        if which != HANGING:
            self._transport.write(self._answer)
            if self._answer is OK_AND_CLOSE:
                self._transport.close()


def _field(small: bytes, head: bytes, name: bytes) -> str:
    start = small.find(name)
    if start < 0:
        return ""
    start += len(name)
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else None].decode()


def _told(question: str, name: str) -> bytes:
    answer = len(seen[name]) if question == "count" else seen[name]
    content = json.dumps(answer).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


async def serve(port: int, tls_port: int, certificate: str) -> None:
    """Take deliveries on kept connections at one port, and on new ones with TLS at another."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    loop, here = asyncio.get_running_loop(), "127.0.0.1"
    await loop.create_server(lambda: Connection(OK), here, port, backlog=BACKLOG)
    await loop.create_server(
        lambda: Connection(OK_AND_CLOSE), here, tls_port, ssl=tls, backlog=BACKLOG
    )
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
