"""A gateway as an attempt hears it: an exception is doubt, no answer echoes the card.

Adapters need not think of it: `acquirers.of` gives no answer that did not pass here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from acquirers import doubt
from acquirers.echoes import ends_of, left_out, of_beginning, of_return
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    Gateway,
    Order,
    SoughtRefund,
)
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Exchange, Finding, Outcome, Standing
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return
from core import traces
from core.metrics import Counter, Histogram, Label
from vault import reveal

Told = TypeVar("Told")
ToPay = TypeVar("ToPay", AuthenticationRequest, AuthorizationRequest)

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
    """The gateway of one attempt: its answers leave the number of the attempt's card out."""

    def __init__(self, gateway: Gateway, card: Mapping[str, Any], terminal: Terminal) -> None:
        """Hear a gateway about a card, as an attempt has it.

        :param terminal: the one that the attempt was opened with.
        """
        self._gateway, self._ends, self._terminal = gateway, ends_of(card), terminal

    @property
    def capabilities(self) -> Capabilities:
        """Return the facts about the attempt's terminal that decide how a doubt is resolved."""
        return self._gateway.capabilities_at(self._terminal)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        told = _with_address(request)
        payer_ip = told.order.payer.ip
        return self._asked("authorize", lambda: self._gateway.authorize(told), payer_ip=payer_ip)

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        begun = self._or(None, "begin", lambda: self._gateway.begin(_with_address(request)))
        return of_beginning(begun, self._ends) if begun else None

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        # The payer's own card goes to the bank so.
        return self._or(None, "handoff", lambda: self._gateway.handoff(_with_address(request), url))

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        def read() -> Return:
            return self._gateway.read_return(order, raw, content_type)

        in_doubt: Return = AskTheBank()
        return of_return(self._or(in_doubt, "read_return", read), self._ends)

    def capture(self, order: Order, *, amount: int) -> Outcome:
        return self._asked("capture", lambda: self._gateway.capture(order, amount=amount))

    def void(self, order: Order) -> Outcome:
        return self._asked("void", lambda: self._gateway.void(order))

    def voidable_until(self, captured_at: datetime) -> datetime | None:
        def until() -> datetime | None:
            return self._gateway.voidable_until(self._terminal, captured_at)

        return self._or(None, "voidable_until", until)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        def ask() -> Outcome:
            return self._gateway.refund(order, reference=reference, amount=amount)

        return self._asked("refund", ask)

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        def inquire() -> Standing:
            return self._gateway.inquire_refund(order, sought=sought)

        return self._inquired("inquire_refund", inquire)

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        def ask() -> Outcome:
            return self._gateway.submit_evidence(
                order, dispute=dispute, number=number, evidence=evidence
            )

        return self._asked("submit_evidence", ask)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        def ask() -> Outcome:
            return self._gateway.accept_dispute(order, dispute=dispute)

        return self._asked("accept_dispute", ask)

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        def ask() -> Outcome:
            return self._gateway.end_inquiry(order, dispute=dispute)

        return self._asked("end_inquiry", ask)

    def inquire(self, order: Order) -> Standing:
        return self._inquired("inquire", lambda: self._gateway.inquire(order))

    def _asked(
        self, operation: str, ask: Callable[[], Outcome], *, payer_ip: str | None = None
    ) -> Outcome:
        outcome = self._or(Outcome(Answer.UNKNOWN), operation, ask)
        self._count(operation, outcome.answer.value, outcome.exchange)
        return left_out(outcome, self._ends._replace(payer_ip=payer_ip))

    def _inquired(self, operation: str, inquire: Callable[[], Standing]) -> Standing:
        standing = self._or(Standing(Finding.UNKNOWN), operation, inquire)
        self._count(operation, standing.finding.value, standing.exchange)
        return left_out(standing, self._ends)

    def _or(self, in_doubt: Told, operation: str, ask: Callable[[], Told]) -> Told:
        """Return an adapter's answer, or the doubt if it raises.

        :raises Forged: a payer's answer is not the bank's.
        """
        try:
            return ask()
        except doubt.PASSED_ON:
            raise
        except Exception as fault:  # noqa: BLE001 - It must not end the conversation.
            doubt.note(fault, operation=operation, terminal=self._terminal.name)
            return in_doubt

    def _count(self, operation: str, result: str, exchange: Exchange) -> None:
        CALLS.count(self._terminal.name, operation, result)
        SECONDS.note(exchange.seconds, self._terminal.name, operation)
        traces.note_call(
            f"bank {operation}", seconds=exchange.seconds, is_failed=result == "unknown",
            terminal=TERMINALS.shown(self._terminal.name), operation=operation, result=result,
        )  # fmt: skip


def _with_address(request: ToPay) -> ToPay:
    """Return the request with the payer's network address, which is sealed with the card."""
    payer = replace(request.order.payer, ip=reveal.payer_ip(request.sealed))
    return replace(request, order=replace(request.order, payer=payer))
