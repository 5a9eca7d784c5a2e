"""Misbehaviour of the old bank, on demand: what it does wrong, and with which requests.

Each has done the bank's work by then, and `hang_before` alone has not: a bank that answers badly
has charged all the same.
"""

import threading
from collections import deque
from dataclasses import dataclass

from tests.stage.oldbank import messages

DOCTYPE = b'<?xml version="1.0"?><!DOCTYPE BankResponse SYSTEM "http://127.0.0.1:9/x">'
ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE B [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;">]>'
    b"<BankResponse><OrderId>&d;</OrderId></BankResponse>"
)
LONG_BYTES = 70_000
# Never whole answers: the connection is closed before, within or instead of one.
SILENCES = ("hang", "hang_before", "half")
# Answers that change what the bank says, and not only how it says it.
UNTRUE = ("other_order", "contradiction", "timeout_reversed", "duplicate")


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer of the bank."""

    content: bytes
    status: int = 200
    content_type: str = "text/xml"
    location: str | None = None


class Mischief:
    """The queue of what goes wrong, by the type of the request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned: deque[tuple[str, str]] = deque()

    def plan(self, kind: str, on: str, times: int) -> None:
        """Let something go wrong with the next requests of a type, or of any if `on` is `*`."""
        with self._lock:
            self._planned.extend([(kind, on)] * times)

    def take(self, request_type: str) -> str | None:
        """Return what goes wrong with this request; None if nothing does."""
        with self._lock:
            for planned in self._planned:
                if planned[1] in ("*", request_type):
                    self._planned.remove(planned)
                    return planned[0]
        return None

    def forget(self) -> None:
        with self._lock:
            self._planned.clear()


def untrue(kind: str | None, facts: dict[str, str]) -> dict[str, str]:
    """Return the answer's facts, changed as the misbehaviour has it."""
    match kind:
        case "other_order":
            return {**facts, "OrderId": "0THER0RDER0THER0RDER"}
        case "contradiction":
            return {**facts, "Result": "Approved", "Code": "51"}
        case "timeout_reversed":
            return {**facts, "Result": "Declined", "Code": "92"}
        case "duplicate":
            return {**facts, "Result": "Error", "Code": "E-3001"}
    return facts


def garbled(kind: str | None, content: bytes) -> Reply:
    """Return the reply with the content as the misbehaviour spoils it."""
    match kind:
        case "html":
            return Reply(b"<html><body>Bak\xfdmday\xfdz</body></html>", content_type="text/html")
        case "error_500":
            return Reply(content, status=500)
        case "redirect":
            return Reply(b"", status=302, location="/elsewhere")
        case "doctype":
            return Reply(DOCTYPE + content.partition(b"?>")[2])
        case "entities":
            return Reply(ENTITIES)
        case "too_long":
            return Reply(content.replace(b"</Text>", b" " * LONG_BYTES + b"</Text>"))
        case "wrong_encoding":
            return Reply(content.replace(b"ISO-8859-9", b"UTF-8"))
        case "wrong_type":
            return Reply(content, content_type="application/json")
        case "empty":
            return Reply(b"")
    return Reply(content)


def refusal(order_id: str, request_type: str, code: str) -> bytes:
    """Write the answer to a request that the bank refused; "no record" looks like a decline."""
    facts = {"OrderId": order_id, "Type": request_type, "Text": "İşlem yapılamadı"}
    if code == "E-2400":
        return messages.answer({**facts, "Result": "Declined", "Code": "05", "Reason": code})
    return messages.answer({**facts, "Result": "Error", "Code": code})
