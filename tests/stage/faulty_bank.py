"""The test bank behind a way that breaks now and then: each request goes as its fault says."""

from typing import Any

import requests

from tests.stage.bank_transport import BankTransport, call_bank

# Besides the faults of `BankTransport`: the answer ends in its middle, or it is the one before.
HALF, ANOTHERS = "half", "another's"
FAULTS = ("cut_before", "lost", "cut_after", "delay", "garble", HALF, ANOTHERS)


class FaultyBank(BankTransport):
    """A bank whose next requests go wrong, one fault after the other; then it is honest again."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.met: list[str] = []  # The faults that a request has met.
        self._told = b"{}"
        self._fault_now: str | None = None

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        self._fault_now = self.faults.pop(0) if self.faults else None
        if self._fault_now:
            self.met.append(self._fault_now)
        self.fault = "garble" if self._fault_now in (HALF, ANOTHERS) else self._fault_now
        try:
            return super().send(request, **options)
        finally:
            self.fault = None

    def arrives_late(self) -> None:
        """Let what was lost on its way arrive now, in its order; nobody hears the answers."""
        for method, path, content in self.lost:
            call_bank(method, path, content)
        self.lost.clear()

    def _ask(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        status, content = super()._ask(request)
        wrong = {HALF: content[: len(content) // 2], ANOTHERS: self._told}
        self.garbled, self._told = wrong.get(self._fault_now or "", b"<garbled>"), content
        return status, content
