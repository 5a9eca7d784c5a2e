"""The way to the old bank over a real socket, and breaks in it, as a test wants them.

It looks to a test as `tests.stage.bank_transport.BankTransport` does, so that one scene is played
at both banks.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import requests
from django.conf import settings
from django.test import override_settings

import acquirers
from acquirers.models import Terminal
from acquirers.wire.http import _TimedAdapter
from core import clock
from tests.stage import bank_books
from tests.stage.bank_transport import bank_in_process
from tests.stage.oldbank.ledger import OldBook
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.terminals import FIRST, Account
from tests.stage.routed import routed

KIND = "oldbank"
ADAPTER = "tests.stage.oldbank.gateway.OldBankGateway"


class OldBankWay(_TimedAdapter):
    """Carry the adapter's requests, and break the way if told to; faults as at `BankTransport`."""

    # The same reference sent twice is refused, or charged twice.
    repeats = False
    refunds_on_the_day = True

    def __init__(self, bank: OldBank) -> None:
        super().__init__()
        self.bank = bank
        self.fault: str | None = None
        self.fault_of_posts: str | None = None
        self.garbled = b"<garbled>"
        self.lost: list[bytes] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._pause_seconds = 0.0
        self._sessions: list[requests.Session] = []

    @property
    def origin(self) -> str:
        return self.bank.api_url.removesuffix("/api")

    def carry_for(self, terminal: Terminal) -> None:
        """Carry what the adapter that serves the terminal now has to send."""
        session = acquirers.at(terminal).session
        session.mount(self.origin, self)
        self._sessions.append(session)

    def leave(self) -> None:
        """Let every adapter send by itself again."""
        for session in self._sessions:
            session.adapters.pop(self.origin, None)
        self.close()

    @property
    def seen(self) -> list[tuple[str, str, str]]:
        return self.bank.seen()

    @property
    def pause_seconds(self) -> float:
        return self._pause_seconds

    @pause_seconds.setter
    def pause_seconds(self, seconds: float) -> None:
        self._pause_seconds = seconds
        self.bank.take_time(works_seconds=seconds)

    def rehearsal(self) -> AbstractContextManager[None]:
        """Undo at the end of the block whatever the bank has written during it."""
        return self.bank.rehearsal()

    def inquiries_seen(self) -> int:
        return sum(kind in ("History", "RefundStatus") for kind, _order, _terminal in self.seen)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if self.fault == "cut_before" or self.fault_of_posts == "cut_before":
            raise requests.ConnectionError("refused", request=request)
        if self.fault == "lost":
            self.lost.append(request.body.read())
            raise requests.ReadTimeout("timed out", request=request)
        request.options = options
        response = self._ask(request)
        if self.fault == "cut_after":
            raise requests.ConnectionError("reset", request=request)
        if self.fault == "delay":
            raise requests.ReadTimeout("timed out", request=request)
        if self.fault == "garble":
            response.raw.read = lambda *_bounds, **_options: self.garbled
        return response

    def _ask(self, request: Any) -> requests.Response:
        self.meanwhile()
        return super().send(request, **request.options)


def credentials_at(bank: OldBank, account: Account = FIRST) -> dict[str, str]:
    """Return what a terminal of this bank has sealed: its credentials and addresses."""
    return {**account.credentials, "api_url": bank.api_url, "gate_url": bank.gate_url}


def add_terminal(bank: OldBank, account: Account = FIRST) -> Terminal:
    """Let the installation's new payments go to the old bank."""
    name = f"old-bank-{account.terminal}"
    return routed(name, kind=KIND, values=credentials_at(bank, account))


@contextmanager
def old_bank_behind(bank: OldBank, *, adapter: str = ADAPTER) -> Iterator[OldBankWay]:
    """Put the old bank behind the installation for the length of the block.

    The sandbox's bank stays beside it, and is asked for nothing but its statement.
    """
    kinds = {**settings.ACQUIRERS, KIND: adapter}
    with (
        override_settings(ACQUIRERS=kinds),
        bank_in_process(),
        _clock_of(bank),
        bank_books.opened(OldBook(bank)),
    ):
        way = OldBankWay(bank)
        way.carry_for(add_terminal(bank))
        try:
            yield way
        finally:
            way.leave()


@contextmanager
def _clock_of(bank: OldBank) -> Iterator[None]:
    """Let the bank's clock move with the sandbox's, which it cannot read."""
    real = clock.advance

    def advance(*arguments: Any) -> None:
        real(*arguments)
        bank.move_clock(clock.offset_seconds())

    with patch.object(clock, "advance", advance):
        yield


def spoil_credentials(terminal: Terminal) -> None:
    """Change the last bit of the sealed credentials, so that they never open again."""
    sealed = bytes(terminal.sealed)
    terminal.sealed = sealed[:-1] + bytes([sealed[-1] ^ 1])
