"""A bank that gives the answers that a test wrote down, byte for byte, over a real socket."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Scripted(NamedTuple):
    """One answer; `sent_bytes` less than its length cuts the connection in the middle of it."""

    content: bytes
    content_type: str = "text/xml"
    status: int = 200
    location: str = ""
    sent_bytes: int | None = None


class ScriptedBank:
    """The bank's address, the answers that it has left to give, and the requests that it got."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[Scripted] = []
        self.seen: list[bytes] = []

    def says(self, *answers: bytes | Scripted) -> None:
        """Give these answers next, in this order; without one left the connection is cut."""
        self.answers = [one if isinstance(one, Scripted) else Scripted(one) for one in answers]
        self.seen = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bank: ScriptedBank

    def do_POST(self) -> None:
        self.bank.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.bank.answers:
            self.close_connection = True
            return
        answer = self.bank.answers.pop(0)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.content)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(answer.content[: answer.sent_bytes])
        self.close_connection = answer.sent_bytes is not None

    def log_message(self, *_arguments: object) -> None:
        pass  # The test sees what was asked.


@contextmanager
def scripted_bank() -> Iterator[ScriptedBank]:
    bank = ScriptedBank()
    handler = type("Handler", (_Handler,), {"bank": bank})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        bank.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield bank
        finally:
            server.shutdown()
