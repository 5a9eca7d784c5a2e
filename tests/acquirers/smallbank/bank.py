"""The small bank: one path, numbers for operations, each body signed by HMAC-SHA-512."""

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.stage.factories import DECLINED_CARD

STORE_KEY = "the small bank's store key"
SALE, PREAUTH, CAPTURE, VOID, REFUND, HISTORY = 1000, 1004, 1005, 1003, 1002, 1010
OK = "VPS-0000"


def signature(body: bytes, key: str) -> str:
    return base64.b64encode(hmac.digest(key.encode(), body, "sha512")).decode()


class SmallBank:
    """Its book: per order what it did, the oldest first. It hangs up `mute` times once done."""

    def __init__(self) -> None:
        self.book: dict[str, list[dict[str, Any]]] = {}
        self.mute = 0
        self.refused: list[str] = []
        self._numbers = count(100)

    def answer(self, body: bytes, mark: str) -> dict[str, Any] | None:
        """Return the answer; None to hang up."""
        if not hmac.compare_digest(signature(body, STORE_KEY), mark):
            self.refused.append(mark)
            return {"responseCode": "VPS-1001"}
        told = json.loads(body)
        assert len(bytes.fromhex(told["randomNumber"])) == 64
        lines, code = self.book.setdefault(told["orderId"], []), told["txnCode"]
        if code == HISTORY:
            return {"responseCode": OK, "orderId": told["orderId"], "lines": lines}
        response = "VPS-0005" if told.get("card", {}).get("number") == DECLINED_CARD else OK
        line = {
            "txnCode": code, "amount": told.get("amount", 0), "responseCode": response,
            "number": f"N{next(self._numbers)}", "at": time.time(),
        }  # fmt: skip
        lines.append(line)
        if self.mute:
            self.mute -= 1
            return None
        return {**line, "orderId": told["orderId"]}

    def moved(self) -> int:
        """Return the money that the bank has taken and not given back."""
        signs = {SALE: 1, CAPTURE: 1, REFUND: -1}
        total = 0
        for lines in self.book.values():
            done = [one for one in lines if one["responseCode"] == OK]
            if VOID not in {one["txnCode"] for one in done}:
                total += sum(signs.get(one["txnCode"], 0) * one["amount"] for one in done)
        return total


@contextmanager
def served(bank: SmallBank) -> Iterator[str]:
    """Serve the bank on a port of its own; yield its address."""

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told = bank.answer(body, self.headers["auth-hash"])
            if told is None:
                return
            sent = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api"
    finally:
        server.shutdown()
        server.server_close()
