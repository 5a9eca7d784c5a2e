"""A merchant's shop, of which payers see one page: an origin that is neither ours nor the bank's.

A page that Playwright makes up would not do: it is not asked where a redirect leads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

PAGE = (
    b'<!doctype html><html lang="en"><head><title>Acme Store</title><link rel="icon" href="data:,">'
    b"</head><body><main><h1>Welcome back</h1></main></body></html>"
)


class _Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_arguments: Any) -> None:
        pass


@contextmanager
def open_shop() -> Iterator[str]:
    """Serve the shop while the block runs; give it the address of the payers' way back."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shop)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/return"
    server.shutdown()
    server.server_close()
