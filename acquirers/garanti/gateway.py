"""The gateway of Garanti BBVA (GVPS 512): XML to the API, a form of the payer's to the gate.

No request is idempotent there, so that nothing is sent again: the order's history is asked for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import requests

from acquirers import bank_days, calls, standings, wire
from acquirers.calls import Course
from acquirers.garanti import access, answers, bodies, gate, histories
from acquirers.garanti.access import Access, access_of
from acquirers.garanti.answers import MaybeWrongWay, Reply
from acquirers.garanti.histories import History
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    SoughtRefund,
)
from acquirers.models import Terminal
from acquirers.outcomes import Answer, OperationKind, Outcome, Standing, learnt_after
from acquirers.paper import OnPaper
from acquirers.terminals import CredentialsUnreadable
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return, form_to
from core import clock

XML = "text/xml"
Body = Callable[[Order, Access], bodies.Message]
# A transaction is named by the first of these numbers that is known. A sale has its own alone.
BY_PAYMENT = ("host_ref", "network_reference")
BY_CAPTURE = ("capture.host_ref", *BY_PAYMENT)
# The last second of a hold's day, and 7 days less that day: the bank holds for 7 to 15 days.
HELD_AT_LEAST = timedelta(days=6)
HELD, TAKEN = OperationKind.AUTHORIZATION, OperationKind.CAPTURE


class GarantiGateway(OnPaper):
    """The way to the bank; hosts, users and passwords are the terminal's."""

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
        return self._change(request.order, lambda _order, way: bodies.payment(request, way))

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Name the gate; the form is made when the payer arrives."""
        try:
            return form_to(access_of(request.order.terminal).gate_url)
        except CredentialsUnreadable:
            return None

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
        """Take money of a pre-authorisation, by its number; the bank takes it once."""

        def send(number: str) -> Outcome:
            return self._change(order, partial(bodies.capture, amount=amount, number=number))

        outcome = self._by_number(order, TAKEN, send)
        is_captured = outcome.answer is Answer.APPROVED
        return replace(outcome, captured=amount) if is_captured else outcome

    def void(self, order: Order) -> Outcome:
        """Release the order by the number of its capture, or else of its payment.

        Where the bank's refusal does not say why, the order's history does.
        """

        def send(number: str) -> Outcome:
            return self._change(order, partial(bodies.void, number=number))

        outcome = self._by_number(order, OperationKind.VOID, send)
        if not isinstance(outcome, MaybeWrongWay):
            return outcome
        history = self.inquire(order)
        is_unread = standings.modification(history, OperationKind.VOID).answer is Answer.UNKNOWN
        refused = replace(outcome, answer=Answer.UNKNOWN) if is_unread else outcome
        told = standings.refused_void(refused, history, is_settled=_is_settled(history) is True)
        is_over = told.answer is Answer.UNKNOWN and _is_hold_over(history)
        return replace(told, answer=Answer.LAPSED) if is_over else told

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        """Return the next end of the bank's day: the hour is the terminal's, else midnight."""
        return bank_days.end_after(terminal, captured_at)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back; sent again, it is given back again.

        Where the bank's refusal does not say why, the order's history does: `DAY_OPEN` if the money
        is not settled yet.
        """

        def send(number: str) -> Outcome:
            return self._change(order, partial(bodies.refund, amount=amount, number=number))

        outcome = self._by_number(order, OperationKind.REFUND, send)
        if not isinstance(outcome, MaybeWrongWay):
            return outcome
        history = self.inquire(order)
        answer = _of_refused_refund(outcome, history)
        told = learnt_after(_of_refund(history, answer), outcome.after)
        return replace(outcome, answer=answer, after=told)

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask for the history: it has all refunds of the order, without our names."""
        return self.inquire(order)

    def inquire(self, order: Order) -> Standing:
        """Ask for the whole history of the order."""

        def read(reply: Reply, course: Course) -> Standing:
            return histories.standing(reply, order, course)

        return calls.ask(order.terminal, self._sender(order, bodies.history), read)

    def _by_number(
        self, order: Order, deed: OperationKind, send: Callable[[str], Outcome]
    ) -> Outcome:
        """Send by the bank's number of a transaction; one that is not known is asked for first."""
        names, of = (BY_PAYMENT, (HELD,)) if deed is TAKEN else (BY_CAPTURE, (HELD, TAKEN))
        known = next((order.numbers[name] for name in names if name in order.numbers), None)
        if known:
            return send(known)
        history = self.inquire(order)
        is_refund = deed is OperationKind.REFUND
        told = _of_refund(history) if is_refund else standings.modification(history, deed)
        found = _number(history, of)
        return replace(send(found), after=told) if found else Outcome(Answer.NOT_SENT, after=told)

    def _change(self, order: Order, body: Body) -> Outcome:
        def read(reply: Reply, course: Course) -> Outcome:
            return answers.outcome(reply, order, course)

        return calls.change(order.terminal, self._sender(order, body), read)

    def _sender(self, order: Order, body: Body) -> calls.Send[Reply]:
        def send(seconds: float) -> Reply:
            way = access_of(order.terminal)
            message = body(order, way)
            received = wire.post(self.session, way.api_url, message.content, XML, seconds=seconds)
            return Reply(received, message.security)

        return send


def _number(history: Standing, deeds: Iterable[OperationKind]) -> str | None:
    """Return the bank's number of the last operation of these kinds that it has approved."""
    found = [
        one.numbers.get("host_ref")
        for one in history.operations
        if one.deed in deeds and one.state is Answer.APPROVED
    ]
    return found[-1] if found else None


def _of_refused_refund(refused: Outcome, history: Standing) -> Answer:
    """Return what a refusal that does not say why means, by the order's history."""
    taken = standings.modification(history, TAKEN).answer
    if taken is Answer.UNKNOWN:
        return Answer.UNKNOWN
    is_too_early = taken is Answer.APPROVED and _is_settled(history) is False
    return Answer.DAY_OPEN if is_too_early else refused.answer


def _of_refund(history: Standing, answer: Answer = Answer.UNKNOWN) -> Outcome:
    """Return a history that was read for a refund, to be kept with that.

    Whatever it says of the payment is no answer about the refund.
    """
    exchange = replace(history.exchange, numbers={})
    return Outcome(answer, exchange=exchange, is_from_inquiry=True)


def _is_hold_over(history: Standing) -> bool:
    """Return whether a hold is so old that the bank may have let it lapse, which it does not say.

    It is asked where the bank refuses to void it: then nothing is left to release.
    """
    if standings.modification(history, OperationKind.VOID).answer is not Answer.NO_RECORD:
        return False
    held_at = history.held_at if isinstance(history, History) else None
    return held_at is not None and clock.now() >= held_at + HELD_AT_LEAST


def _is_settled(history: Standing) -> bool | None:
    return history.is_settled if isinstance(history, History) else None
