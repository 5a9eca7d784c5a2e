"""The simulated bank behind its Garanti doors, in the test's own process."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import acquirers
from acquirers.garanti.gateway import GarantiGateway
from acquirers.models import Terminal
from testbank.garanti import lines
from testbank.garanti.terminals import FIRST, GarantiTerminal
from testbank.models import GarantiLine
from tests.stage import bank_books
from tests.stage.bank_transport import IN_PROCESS_URL, bank_in_process
from tests.stage.protocol_book import ProtocolBook
from tests.stage.protocol_way import ProtocolWay, carried
from tests.stage.routed import routed

KIND = "garanti"
INQUIRY = b"<Type>orderhistoryinq</Type>"


def values_at(terminal: GarantiTerminal = FIRST, **changes: str) -> dict[str, str]:
    """Return the values of a terminal of the service for one of the bank's."""
    addresses = {
        "api_url": f"{IN_PROCESS_URL}/VPServlet",
        "gate_url": f"{IN_PROCESS_URL}/servlet/gt3dengine",
        "ip_address": "198.51.100.7",
    }
    return {**terminal.credentials, **addresses, **changes}


def add_terminal(terminal: GarantiTerminal = FIRST, **changes: str) -> Terminal:
    """Let the installation's new payments go to the bank's Garanti doors."""
    name = f"garanti-{terminal.terminal_id}"
    return routed(name, kind=KIND, values=values_at(terminal, **changes))


@contextmanager
def garanti_behind(terminal: GarantiTerminal = FIRST) -> Iterator[ProtocolWay]:
    """Put the Garanti doors behind the installation for the length of the block."""
    book = ProtocolBook(GarantiLine, lines.pay, FIRST.terminal_id)
    with bank_in_process(), bank_books.opened(book), garanti_carried() as way:
        add_terminal(terminal)
        yield way


@contextmanager
def garanti_at(url: str) -> Iterator[None]:
    """Put the Garanti doors of a bank in processes of its own behind the installation.

    Payers are at its gate in this process: both have one book.
    """
    with bank_books.opened(ProtocolBook(GarantiLine, lines.pay, FIRST.terminal_id)):
        add_terminal(api_url=f"{url}/VPServlet")
        yield


def garanti_carried() -> AbstractContextManager[ProtocolWay]:
    """Carry what the adapter sends to the bank in this process."""
    return carried(garanti().session, inquiry=INQUIRY)


def garanti() -> GarantiGateway:
    """Return this process's gateway to the bank."""
    gateway = acquirers.at(Terminal(kind=KIND))
    assert isinstance(gateway, GarantiGateway)
    return gateway
