"""The old bank's process: `python -m tests.stage.oldbank.server PORT BOOK`.

It ends when its standard input does, so that it never outlives the tests that started it.
"""

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from testbank import behaviours
from tests.stage.oldbank import gate, messages, mischief
from tests.stage.oldbank.book import Book
from tests.stage.oldbank.host import Host
from tests.stage.oldbank.messages import Refused
from tests.stage.oldbank.mischief import Mischief, Reply
from tests.stage.oldbank.telling import Told

FORM = "application/x-www-form-urlencoded"


class Bank:
    """The bank's parts, and how long it keeps a caller in silence.

    :param seen: the type, the order and the terminal of each request that could be read.
    """

    def __init__(self, path: Path) -> None:
        self.book = Book(path)
        self.host = Host(self.book)
        self.mischief = Mischief()
        self.silence_seconds = 0.0
        self.seen: list[tuple[str, str, str]] = []

    def answer(self, body: bytes) -> Reply | None:
        """Answer a message of the API; None: the connection is closed without an answer."""
        try:
            message = messages.read(body)
        except Refused as refused:
            return Reply(mischief.refusal("", "", refused.code))
        kind, order_id = message["Type"], message["OrderId"]
        self.seen.append((kind, order_id, message["Terminal"]))
        wrong = self.mischief.take(kind)
        if wrong == "hang_before":
            return self._silence()
        try:
            told = self.host.ask(message)
        except Refused as refused:
            return mischief.garbled(wrong, mischief.refusal(order_id, kind, refused.code))
        return self._reply(message, told, wrong)

    def _reply(self, message: dict[str, str], told: Told, wrong: str | None) -> Reply | None:
        if wrong == "timeout_reversed":
            self.host.reverse_later(message["Terminal"], message["OrderId"])
        if told.is_silent or wrong == "hang":
            return self._silence()
        facts = {"OrderId": message["OrderId"], "Type": message["Type"], **told.facts}
        content = messages.answer(mischief.untrue(wrong, facts), told.lines)
        if wrong == "half":
            return Reply(content, status=0)
        if wrong == "late":
            time.sleep(self.silence_seconds)
        return mischief.garbled(wrong, content)

    def _silence(self) -> None:
        time.sleep(self.silence_seconds)

    def control(self, verb: str, told: dict[str, Any]) -> Any:
        """Obey the tests; no bank has such an address."""
        obey: dict[str, Callable[..., Any]] = {
            "reset": self._reset,
            "clock": self.book.move_clock,
            "pace": self._take_time,
            "refund_after": self._refund_after,
            "remember": self.book.remember,
            "go_back": self.book.go_back,
            "hold": self.host.goes_on.clear,
            "release": self.host.goes_on.set,
            "misbehave": self.mischief.plan,
            "charge": self.host.charge_after_all,
            "older": self.book.make_older,
            "take_refunds_back": self._take_refunds_back,
            "book": self._lines,
            "seen": lambda: self.seen,
        }
        return obey[verb](**told)

    def _reset(self) -> None:
        self.book.empty()
        self.mischief.forget()
        self.seen.clear()
        self.host.works_seconds = self.silence_seconds = 0.0
        self.host.refunds_after_days = 0
        self.host.goes_on.set()

    def _take_time(self, works_seconds: float, silence_seconds: float) -> None:
        self.host.works_seconds, self.silence_seconds = works_seconds, silence_seconds

    def _refund_after(self, days: int) -> None:
        self.host.refunds_after_days = days

    def _take_refunds_back(self) -> None:
        """Reverse each refund, as a bank does at its day's end if its answer did not arrive."""
        lines = [one for place in self.book.places() for one in self.book.of(*place)]
        for one in lines:
            if (one.kind, one.state) == ("R", "A"):
                self.book.decide(one, state="D", code=behaviours.DO_NOT_HONOR)

    def _lines(self, order_ids: list[str]) -> list[dict[str, Any]]:
        known = self.book.places()
        wanted = [place for place in known if not order_ids or place[1] in order_ids]
        # As written: what has become overdue since is decided when an acquirer asks.
        lines = [one for place in wanted for one in self.book.of(*place)]
        return [asdict(one) for one in lines if one.state != "T"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    bank: Bank

    def do_POST(self) -> None:  # noqa: N802
        """Answer one request; a hang-up of the caller ends it quietly."""
        with contextlib.suppress(ConnectionError):
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:
        if self.path == "/api":
            is_form = self.headers["Content-Type"] == FORM
            self._send(self.bank.answer(body) if is_form else Reply(b"", status=415))
        elif self.path.startswith("/gate"):
            self._send(self._page(body))
        elif self.path.startswith("/control/"):
            told = self.bank.control(self.path.removeprefix("/control/"), json.loads(body or b"{}"))
            self._send(Reply(json.dumps(told).encode(), content_type="application/json"))
        else:
            self._send(Reply(b"", status=404))

    def _page(self, body: bytes) -> Reply:
        sent = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=32))
        try:
            if self.path == "/gate":
                shown = gate.open_page(self.bank.book, sent)
            else:
                wrong = self.bank.mischief.take("Return")
                shown = gate.decide(self.bank.book, sent["page"], sent["decision"], wrong)
        except gate.NotOurForm as refused:
            return Reply(f"<p>Refused: {refused}</p>".encode(), 400, "text/html; charset=utf-8")
        if isinstance(shown, str):
            return Reply(shown.encode(), content_type="text/html; charset=utf-8")
        return Reply(gate.written(shown), content_type=f"text/html; charset={shown.encoding}")

    def _send(self, reply: Reply | None) -> None:
        self.close_connection = reply is None or reply.status == 0
        if reply is None:
            return
        self.send_response(reply.status or 200)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.content)))
        if reply.location:
            self.send_header("Location", reply.location)
        self.end_headers()
        self.wfile.write(
            reply.content if reply.status else reply.content[: len(reply.content) // 2]
        )

    def log_message(self, *_arguments: object) -> None:
        pass  # A line of the log would hold nothing that the book does not.


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def end_with_the_tests() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(port: str, path: str) -> None:
    Handler.bank = Bank(Path(path))
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    with Server(("127.0.0.1", int(port)), Handler) as server:
        print(f"listening at {server.server_port}", flush=True)  # noqa: T201
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
