"""The simulated bank behind its NestPay doors, in the test's own process.

Its book is the sandbox's, and so is its way: the faults are those of `BankTransport`. The scene is
the same as at the other doors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests

import acquirers
from acquirers.models import Terminal
from acquirers.nestpay.gateway import NestPayGateway
from testbank.nestpay.terminals import FIRST, NestpayTerminal
from tests.stage import bank_books
from tests.stage.bank_transport import (
    IN_PROCESS_URL,
    BankTransport,
    bank_in_process,
    call_bank,
    read_body,
)
from tests.stage.nestpay.ledger import NestPayBook
from tests.stage.routed import routed

KIND = "nestpay"
XML = "text/xml"
INQUIRY = b"<ORDERHISTORY>"


class NestPayWay(BankTransport):
    """Carry the adapter's requests; `asked` has their bodies."""

    # The same reference sent twice is refused, or charged twice.
    repeats = False

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[bytes] = []

    def inquiries_seen(self) -> int:
        return sum(INQUIRY in body for body in self.asked)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        is_inquiry = INQUIRY in request.body.getvalue() if request.body else False
        if self.fault_of_posts == "cut_before" and is_inquiry:
            return self._sent_anyhow(request, options)
        response = super().send(request, **options)
        response.headers["Content-Type"] = XML
        return response

    def _sent_anyhow(
        self, request: requests.PreparedRequest, options: dict[str, Any]
    ) -> requests.Response:
        """Send what changes nothing, while all that does is cut."""
        self.fault_of_posts = None
        try:
            return self.send(request, **options)
        finally:
            self.fault_of_posts = "cut_before"

    def _ask(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        self.seen.append(request.path_url)
        body = read_body(request)
        self.asked.append(body)
        self.work()
        return call_bank(request.method, request.path_url, body, XML)


def values_at(terminal: NestpayTerminal = FIRST, **changes: str) -> dict[str, str]:
    """Return the values of a terminal of the service for one of the bank's."""
    addresses = {
        "api_url": f"{IN_PROCESS_URL}/fim/api",
        "gate_url": f"{IN_PROCESS_URL}/fim/est3Dgate",
    }
    return {**terminal.credentials, **addresses, **changes}


def add_terminal(terminal: NestpayTerminal = FIRST, **changes: str) -> Terminal:
    """Let the installation's new payments go to the bank's NestPay doors."""
    name = f"nestpay-{terminal.client_id}"
    return routed(name, kind=KIND, values=values_at(terminal, **changes))


@contextmanager
def nestpay_behind(terminal: NestpayTerminal = FIRST) -> Iterator[NestPayWay]:
    """Put the NestPay doors behind the installation for the length of the block."""
    with bank_in_process(), bank_books.opened(NestPayBook()), nestpay_carried() as way:
        add_terminal(terminal)
        yield way


@contextmanager
def nestpay_carried() -> Iterator[NestPayWay]:
    """Carry what the adapter sends to the bank in this process."""
    way, session = NestPayWay(), nestpay().session
    session.mount(IN_PROCESS_URL, way)
    try:
        yield way
    finally:
        del session.adapters[IN_PROCESS_URL]


def nestpay() -> NestPayGateway:
    """Return this process's gateway to banks of this protocol."""
    gateway = acquirers.at(Terminal(kind=KIND))
    assert isinstance(gateway, NestPayGateway)
    return gateway
