"""A gateway as an attempt hears it: no answer brings the number of the attempt's own card along.

Adapters need not think of it: `acquirers.of` gives no answer that did not pass here.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

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
from acquirers.outcomes import Outcome, Standing
from acquirers.three_d_secure import Form, FormPost, Redirect, Return


class HeardGateway:
    """A `Gateway` whose answers about one card leave that card's number out."""

    def __init__(self, gateway: Gateway, card: Mapping[str, Any]) -> None:
        """Hear a gateway about a card, as an attempt has it."""
        self._gateway, self._ends = gateway, ends_of(card)
        self.capabilities = gateway.capabilities
        self.built_in_bins = gateway.built_in_bins

    def accepts(self, number: str) -> bool:
        return self._gateway.accepts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        return left_out(self._gateway.authorize(request), self._ends)

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        begun = self._gateway.begin(request)
        return of_beginning(begun, self._ends) if begun else None

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        return self._gateway.handoff(request, url)  # The payer's own card goes to the bank so.

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        return of_return(self._gateway.read_return(order, raw, content_type), self._ends)

    def capture(self, order: Order, *, amount: int) -> Outcome:
        return left_out(self._gateway.capture(order, amount=amount), self._ends)

    def void(self, order: Order) -> Outcome:
        return left_out(self._gateway.void(order), self._ends)

    def voidable_until(self, captured_at: datetime) -> datetime | None:
        return self._gateway.voidable_until(captured_at)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        told = self._gateway.refund(order, reference=reference, amount=amount)
        return left_out(told, self._ends)

    def inquire_refund(self, order: Order, *, reference: str) -> Standing:
        return left_out(self._gateway.inquire_refund(order, reference=reference), self._ends)

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        return self._gateway.notices(terminal, after=after, limit=limit)

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        told = self._gateway.submit_evidence(
            order, dispute=dispute, number=number, evidence=evidence
        )
        return left_out(told, self._ends)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        return left_out(self._gateway.accept_dispute(order, dispute=dispute), self._ends)

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        return left_out(self._gateway.end_inquiry(order, dispute=dispute), self._ends)

    def inquire(self, order: Order) -> Standing:
        return left_out(self._gateway.inquire(order), self._ends)

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        return self._gateway.statement(terminal, after=after)
