"""A merchant's shop, of which payers see one page: an origin that is neither ours nor the bank's.

A page that Playwright makes up would not do: it is not asked where a redirect leads.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

# Below it the shop redirects to another origin of its own.
MOVED = "/moved"
PAGE = (
    b'<!doctype html><html lang="en"><head><title>Acme Store</title><link rel="icon" href="data:,">'
    b"</head><body><main><h1>Welcome back</h1></main></body></html>"
)


# A form that its headers forbid to keep; its field has the name that the address ends with, or
# another name each time.
FORM = "/form/"
FORM_PAGE = (
    b'<!doctype html><html lang="en"><head><title>Form</title><link rel="icon" href="data:,">'
    b"</head><body><main><h1>Form</h1><form>"
    b'<label>Card number <input name="%b"></label></form></main></body>'
    b"</html>"
)


class _Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith(FORM):
            self._send_form(self.path.removeprefix(FORM))
            return
        if self.path.startswith(MOVED):
            self._send_on()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def _send_form(self, name: str) -> None:
        page = FORM_PAGE % (name or f"new_{time.monotonic_ns()}").encode()
        self.send_response(203)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(page)

    def _send_on(self) -> None:
        """Redirect as shops do to their `www`: for a browser that is another origin."""
        _host, _colon, port = self.headers["Host"].partition(":")
        self.send_response(301)
        self.send_header("Location", f"http://localhost:{port}{self.path.removeprefix(MOVED)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        pass


def moved(shop: str) -> str:
    """Return an address of the shop that leads to its page by another origin."""
    return shop.replace("/return", f"{MOVED}/return")


@contextmanager
def open_shop() -> Iterator[str]:
    """Serve the shop while the block runs; give it the address of the payers' way back."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shop)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/return"
    server.shutdown()
    server.server_close()
