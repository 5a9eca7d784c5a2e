"""A bank that keeps whoever asks it waiting, until the test lets it answer."""

from threading import Semaphore
from typing import Any

from tests.stage.bank_transport import BankTransport

PATIENCE_SECONDS = 60


class HeldBank:
    """Holds each request to the bank where it arrives."""

    def __init__(self, bank: BankTransport) -> None:
        self._ask, bank._ask = bank._ask, self._hold_and_ask
        self._arrived, self._let_go = Semaphore(0), Semaphore(0)

    def await_asked(self, times: int = 1) -> None:
        """Return once so many requests have arrived, of those that nobody has awaited yet."""
        for _ in range(times):
            assert self._arrived.acquire(timeout=PATIENCE_SECONDS), "the bank is not asked"

    def answer(self, times: int = 1) -> None:
        """Let so many requests go on, of those that are held or will be."""
        self._let_go.release(times)

    def _hold_and_ask(self, request: Any) -> Any:
        self._arrived.release()
        assert self._let_go.acquire(timeout=PATIENCE_SECONDS), "the test forgot a request"
        return self._ask(request)
