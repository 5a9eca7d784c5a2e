"""The gateway of banks that speak NestPay (EST): XML to the API, a form of the payer's to the gate.

No request is idempotent there, so that nothing is sent again: the order's history is asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

import requests

from acquirers import bank_days, calls, standings, wire
from acquirers.calls import Course
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    SoughtRefund,
)
from acquirers.models import Terminal
from acquirers.nestpay import access, answers, bodies, codes, gate, histories, settlement
from acquirers.nestpay.access import access_of
from acquirers.outcomes import Answer, OperationKind, Outcome, Standing
from acquirers.paper import OnPaper
from acquirers.settlement import Reader
from acquirers.terminals import CredentialsUnreadable
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return, form_to
from acquirers.wire import xml

XML = "text/xml"


class NestPayGateway(OnPaper):
    """The way to each bank of this protocol; hosts and passwords are the terminal's."""

    fields = access.FIELDS
    capabilities = Capabilities(
        references_are_idempotent=False,
        inquires_modifications=True,
        voids_partially=False,
        cvc_at_handoff=True,
        refunds_are_idempotent=False,
        refunds_have_names=False,
    )
    built_in_bins: Mapping[str, IssuerFacts] = {}
    settlement_reader: Reader | None = staticmethod(settlement.read)

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        """Return the same for all terminals."""
        return self.capabilities

    def accepts(self, terminal: Terminal, number: str) -> bool:
        """Take every number: the terminal's brands are the contract's."""
        return True

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one sale or pre-authorisation, with the card or with the proof."""
        kind = "Auth" if request.capture else "PreAuth"

        return self._change(request.order, kind, lambda: bodies.payment(request))

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Name the gate; the form is made when the payer arrives."""
        try:
            gate_url = access_of(request.order.terminal).gate_url
        except CredentialsUnreadable:
            return None
        return form_to(gate_url)

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        """Make the form with the card; None if card or credentials do not open."""
        try:
            way = access_of(request.order.terminal)
            return Form(url, gate.form(request, way), charges=way.model == access.BANKS)
        except (CredentialsUnreadable, wire.NotSent):
            return None

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        """Verify the gate's answer by the terminal's store key."""
        try:
            way = access_of(order.terminal)
        except CredentialsUnreadable:
            return AskTheBank()  # Nothing can be verified, and nothing is refused for that.
        return gate.read(order, raw, content_type, way)

    def capture(self, order: Order, *, amount: int) -> Outcome:
        """Take money of a pre-authorisation; the bank takes it once, and releases the rest."""
        outcome = self._change(order, "PostAuth", lambda: bodies.total(amount))
        is_captured = outcome.answer is Answer.APPROVED
        return replace(outcome, captured=amount) if is_captured else outcome

    def void(self, order: Order) -> Outcome:
        """Release the order; the order's history says what "nothing to cancel" means."""
        outcome = self._change(order, "Void", dict)
        number = order.numbers.get("capture.trans_id") or order.numbers.get("trans_id")
        if outcome.exchange.code == codes.NAME_THE_TRANSACTION and number:
            named = self._change(order, "Void", lambda: {"TransId": number})
            outcome = replace(named, after=outcome)
        if outcome.exchange.code not in codes.NOTHING_TO_VOID:
            return outcome
        history = self.inquire(order)
        is_taken = any(one.deed is OperationKind.CAPTURE for one in history.operations)
        return standings.refused_void(outcome, history, is_settled=is_taken)

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        """Return the next end of the bank's day: the hour is the terminal's, else midnight.

        A void that comes too late is `SETTLED`, and a refund that comes too early `DAY_OPEN`.
        """
        return bank_days.end_after(terminal, captured_at)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back; sent again, it is given back again."""
        return self._change(order, "Credit", lambda: bodies.money(order, amount))

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask for the history: it has all refunds of the order, without our names."""
        return self.inquire(order)

    def inquire(self, order: Order) -> Standing:
        """Ask for the whole history of the order."""

        def send(seconds: float) -> wire.Received:
            return self._send(order, bodies.HISTORY, seconds)

        def read(received: wire.Received, course: Course) -> Standing:
            return histories.standing(received, order, course)

        return calls.ask(order.terminal, send, read)

    def _change(self, order: Order, kind: str, elements: Callable[[], xml.Elements]) -> Outcome:
        def send(seconds: float) -> wire.Received:
            return self._send(order, elements(), seconds, kind=kind)

        def read(received: wire.Received, course: Course) -> Outcome:
            return answers.outcome(received, order, course)

        return calls.change(order.terminal, send, read)

    def _send(
        self, order: Order, elements: xml.Elements, seconds: float, *, kind: str | None = None
    ) -> wire.Received:
        way = access_of(order.terminal)
        body = bodies.document(order, way, elements, kind=kind)
        return wire.post(self.session, way.api_url, body, XML, seconds=seconds)
