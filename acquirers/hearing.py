"""A gateway as an attempt hears it: no answer brings the number of the attempt's own card along.

Adapters need not think of it: `acquirers.of` gives no answer that did not pass here.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from acquirers.echoes import ends_of, left_out, of_beginning, of_return
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Gateway,
    Order,
    StatementLine,
)
from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.three_d_secure import Form, FormPost, Redirect, Return
from core.metrics import Counter, Histogram, Label

Told = TypeVar("Told", Outcome, Standing)

TERMINALS = Label()
OPERATIONS = Label(
    "authorize", "capture", "void", "refund", "inquire", "inquire_refund", "submit_evidence",
    "accept_dispute", "end_inquiry",
)  # fmt: skip
RESULTS = Label(*(one.value for one in (*Answer, *Finding)))
CALLS = Counter(
    "pay_bank_calls_total",
    "Questions to banks, by the terminal's name and the answer.",
    terminal=TERMINALS,
    operation=OPERATIONS,
    result=RESULTS,
)
SECONDS = Histogram(
    "pay_bank_call_seconds",
    "Time until a bank answered, or was given up.",
    terminal=TERMINALS,
    operation=OPERATIONS,
)


class HeardGateway:
    """A `Gateway` whose answers about one card leave that card's number out."""

    def __init__(self, gateway: Gateway, card: Mapping[str, Any], terminal: str) -> None:
        """Hear a gateway about a card, as an attempt has it.

        :param terminal: the name of the terminal that it is asked at.
        """
        self._gateway, self._ends, self._terminal = gateway, ends_of(card), terminal
        self.capabilities = gateway.capabilities
        self.built_in_bins = gateway.built_in_bins

    def accepts(self, number: str) -> bool:
        return self._gateway.accepts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        return self._heard("authorize", self._gateway.authorize(request))

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        begun = self._gateway.begin(request)
        return of_beginning(begun, self._ends) if begun else None

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        return self._gateway.handoff(request, url)  # The payer's own card goes to the bank so.

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        return of_return(self._gateway.read_return(order, raw, content_type), self._ends)

    def capture(self, order: Order, *, amount: int) -> Outcome:
        return self._heard("capture", self._gateway.capture(order, amount=amount))

    def void(self, order: Order) -> Outcome:
        return self._heard("void", self._gateway.void(order))

    def voidable_until(self, captured_at: datetime) -> datetime | None:
        return self._gateway.voidable_until(captured_at)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        told = self._gateway.refund(order, reference=reference, amount=amount)
        return self._heard("refund", told)

    def inquire_refund(self, order: Order, *, reference: str) -> Standing:
        told = self._gateway.inquire_refund(order, reference=reference)
        return self._heard("inquire_refund", told)

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        return self._gateway.notices(terminal, after=after, limit=limit)

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        told = self._gateway.submit_evidence(
            order, dispute=dispute, number=number, evidence=evidence
        )
        return self._heard("submit_evidence", told)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        told = self._gateway.accept_dispute(order, dispute=dispute)
        return self._heard("accept_dispute", told)

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        return self._heard("end_inquiry", self._gateway.end_inquiry(order, dispute=dispute))

    def inquire(self, order: Order) -> Standing:
        return self._heard("inquire", self._gateway.inquire(order))

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        return self._gateway.statement(terminal, after=after)

    def _heard(self, operation: str, told: Told) -> Told:
        """Count an answer, and return it without the card's number."""
        result = told.answer if isinstance(told, Outcome) else told.finding
        CALLS.count(self._terminal, operation, result.value)
        SECONDS.note(told.exchange.seconds, self._terminal, operation)
        return left_out(told, self._ends)
