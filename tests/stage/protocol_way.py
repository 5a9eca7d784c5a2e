"""The simulated bank behind the doors of a real bank's protocol, in the test's own process.

Its book is the sandbox's, and so is its way: the faults are those of `BankTransport`. The scene is
the same as at the other doors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests

from tests.stage.bank_transport import IN_PROCESS_URL, BankTransport, call_bank, read_body

XML = "text/xml"


class ProtocolWay(BankTransport):
    """Carry an adapter's requests; `asked` has their bodies."""

    # The same reference sent twice is refused, or charged twice.
    repeats = False
    content_type = XML
    refunds_on_the_day = False

    def __init__(self, inquiry: bytes) -> None:
        """Carry requests.

        :param inquiry: a part of a request that changes nothing at the bank.
        """
        super().__init__()
        self.inquiry = inquiry
        self.asked: list[bytes] = []

    def inquiries_seen(self) -> int:
        return sum(self.inquiry in body for body in self.asked)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        is_inquiry = self.inquiry in request.body.getvalue() if request.body else False
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
        return call_bank(request.method, request.path_url, body, self.content_type)


@contextmanager
def carried(session: requests.Session, *, inquiry: bytes) -> Iterator[ProtocolWay]:
    """Carry what an adapter sends to the bank in this process."""
    way = ProtocolWay(inquiry)
    session.mount(IN_PROCESS_URL, way)
    try:
        yield way
    finally:
        del session.adapters[IN_PROCESS_URL]
