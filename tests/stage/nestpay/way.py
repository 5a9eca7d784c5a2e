"""The simulated bank behind its NestPay doors, in the test's own process."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import acquirers
from acquirers.models import Terminal
from acquirers.nestpay.gateway import NestPayGateway
from testbank.models import NestpayLine
from testbank.nestpay import lines
from testbank.nestpay.terminals import FIRST, NestpayTerminal
from tests.stage import bank_books
from tests.stage.bank_transport import IN_PROCESS_URL, bank_in_process
from tests.stage.protocol_book import ProtocolBook
from tests.stage.protocol_way import ProtocolWay, carried
from tests.stage.routed import routed

KIND = "nestpay"
INQUIRY = b"<ORDERHISTORY>"


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
def nestpay_behind(terminal: NestpayTerminal = FIRST) -> Iterator[ProtocolWay]:
    """Put the NestPay doors behind the installation for the length of the block."""
    book = ProtocolBook(NestpayLine, lines.pay, FIRST.client_id)
    with bank_in_process(), bank_books.opened(book), nestpay_carried() as way:
        add_terminal(terminal)
        yield way


@contextmanager
def nestpay_at(url: str) -> Iterator[None]:
    """Put the NestPay doors of a bank in processes of its own behind the installation.

    Payers are at its gate in this process: both have one book.
    """
    with bank_books.opened(ProtocolBook(NestpayLine, lines.pay, FIRST.client_id)):
        add_terminal(api_url=f"{url}/fim/api")
        yield


def nestpay_carried() -> AbstractContextManager[ProtocolWay]:
    """Carry what the adapter sends to the bank in this process."""
    return carried(nestpay().session, inquiry=INQUIRY)


def nestpay() -> NestPayGateway:
    """Return this process's gateway to banks of this protocol."""
    gateway = acquirers.at(Terminal(kind=KIND))
    assert isinstance(gateway, NestPayGateway)
    return gateway
