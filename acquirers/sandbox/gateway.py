"""The gateway of sandbox installations: the test bank, over HTTP."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import requests

from acquirers import bank_days, calls, settlement, wire
from acquirers.calls import Course
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    SoughtRefund,
    StatementLine,
)
from acquirers.models import Terminal
from acquirers.noticed import Notice, NoticesUnreadable
from acquirers.outcomes import Outcome, Standing
from acquirers.sandbox import (
    answers,
    authentication,
    bodies,
    cards,
    inquiry,
    notices,
    refunds,
    statements,
)
from acquirers.sandbox.access import access_of
from acquirers.set_up import ADDRESS, PASSWORD, Field
from acquirers.settlement import Reader
from acquirers.terminals import CredentialsUnreadable
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return


class SandboxGateway:
    """The way to the test bank; through `session` tests run the bank in their own process."""

    fields = (
        Field("api_url", form=ADDRESS, is_required=False),
        Field("signing_key", is_secret=True, form=PASSWORD, is_required=False),
    )
    capabilities = Capabilities(
        references_are_idempotent=True,
        inquires_modifications=True,
        voids_partially=False,
        cvc_at_handoff=False,
        refunds_are_idempotent=True,
    )
    built_in_bins: Mapping[str, IssuerFacts] = cards.BUILT_IN_BINS
    settlement_reader: Reader | None = staticmethod(settlement.read)

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        """Return the same for all terminals."""
        return self.capabilities

    def accepts(self, terminal: Terminal, number: str) -> bool:
        """Take every number: a sandbox lets in none but test cards."""
        return True

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one authorisation, within the bank's time-out and the request's time budget."""
        order = request.order
        return self._post(
            order,
            "authorizations",
            lambda: bodies.authorization(request),
            lambda told: answers.authorization(told, order.reference),
        )

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Ask the bank to begin 3-D Secure, and for the page where its customer authenticates."""
        seconds = calls.patience_seconds()
        if seconds <= 0:
            return None
        try:
            url = f"{access_of(request.order.terminal).url}/authentications"
            told = wire.post_json(self.session, url, bodies.enrolment(request), seconds=seconds)
        except (wire.NotSent, wire.NoAnswer, CredentialsUnreadable):
            return None  # This request charges nothing, so no inquiry has to follow.
        return answers.redirect(told, request.order.reference)

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        """Return a form without fields: the test bank asks for the card on no page."""
        return Form(url, {})

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        """Verify the bank's answer by the key that the bank and the terminal share."""
        try:
            key = access_of(order.terminal).signing_key
        except CredentialsUnreadable:
            return AskTheBank()  # Nothing can be verified, and nothing is refused for that.
        return authentication.verified(raw, content_type, order=order, key=key)

    def capture(self, order: Order, *, amount: int) -> Outcome:
        """Take authorised money; the same amount again counts as the same capture."""
        return self._operate(order, "capture", {"amount": amount})

    def void(self, order: Order) -> Outcome:
        """Release an authorised amount; safe to repeat."""
        return self._operate(order, "void", {})

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        """Return the next midnight in Istanbul, when the bank closes its day."""
        return bank_days.end_after(terminal, captured_at)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back; the same reference again counts as the same refund."""
        sent = {"reference": reference, "authorization": order.reference, "amount": amount}
        return self._post(order, "refunds", lambda: sent, lambda told: refunds.outcome(told, sent))

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask what the bank has of one refund, within the bounds of an inquiry."""
        return self._ask(
            order,
            f"refunds/{sought.reference}",
            lambda told, course: refunds.standing(told, order.reference, sought.reference, course),
        )

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        """Read the bank's notices page by page until a page is empty, or there are enough."""
        try:
            return notices.behind(self.session, access_of(terminal).url, after=after, limit=limit)
        except CredentialsUnreadable as error:
            raise NoticesUnreadable("The terminal's credentials do not open.") from error

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        """Hand in evidence; the same number again counts as the same submission."""
        sent = {"number": number, "evidence": dict(evidence)}
        return self._dispute(order, dispute, "evidence", sent)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        """Give a dispute up; safe to repeat."""
        return self._dispute(order, dispute, "acceptance", {})

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        """Let an inquiry end; safe to repeat, and refused once it is a dispute."""
        return self._dispute(order, dispute, "end", {})

    def inquire(self, order: Order) -> Standing:
        """Ask what the bank has of an order, within the same bounds and ten seconds."""
        return self._ask(
            order,
            f"authorizations/{order.reference}",
            lambda told, course: inquiry.standing(told, order.reference, course),
        )

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        """Read the bank's statement, orders and refunds, page by page until a page is empty."""
        return statements.lines(self.session, terminal, after)

    def _operate(self, order: Order, operation: str, sent: dict[str, Any]) -> Outcome:
        path, reference = f"authorizations/{order.reference}/{operation}", order.reference
        return self._post(
            order, path, lambda: sent, lambda told: answers.operation(told, reference)
        )

    def _dispute(self, order: Order, dispute: str, door: str, sent: dict[str, Any]) -> Outcome:
        path = f"disputes/{dispute}/{door}"
        return self._post(order, path, lambda: sent, lambda told: answers.receipt(told, dispute))

    def _post(
        self,
        order: Order,
        path: str,
        sent: Callable[[], dict[str, Any]],
        read: Callable[[Any], Outcome],
    ) -> Outcome:
        def post(seconds: float) -> Any:
            url = f"{access_of(order.terminal).url}/{path}"
            return wire.post_json(self.session, url, sent(), seconds=seconds)

        def outcome(told: Any, course: Course) -> Outcome:
            found = read(told)
            return replace(found, exchange=course.ended(code=found.response_code))

        return calls.change(order.terminal, post, outcome)

    def _ask(self, order: Order, path: str, read: Callable[[Any, Course], Standing]) -> Standing:
        def get(seconds: float) -> Any:
            url = f"{access_of(order.terminal).url}/{path}"
            return wire.get_json(self.session, url, seconds=seconds)

        return calls.ask(order.terminal, get, read)
