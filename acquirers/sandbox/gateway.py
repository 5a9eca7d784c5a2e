"""The gateway of sandbox installations: the test bank, over HTTP."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import requests
from django.conf import settings

from acquirers import wire
from acquirers.courses import Course
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    StatementLine,
    StatementUnreadable,
)
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.sandbox import answers, authentication, bodies, cards, inquiry
from acquirers.sandbox.access import access_of
from acquirers.terminals import CredentialsUnreadable
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return
from core import context

# The caller may be a request that still has work to do, so an inquiry gets at most 10 s of its
# budget.
INQUIRY_SECONDS = 10.0


class SandboxGateway:
    """The way to the test bank; through `session` tests run the bank in their own process."""

    capabilities = Capabilities(
        references_are_idempotent=True,
        inquires_modifications=True,
        voids_partially=False,
        cvc_at_handoff=False,
    )

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def facts(self, number: str) -> IssuerFacts | None:
        """Return the issuer's facts of a sandbox card; None for any other number."""
        return cards.facts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one authorisation, within the bank's time-out and the request's time budget."""
        order = request.order
        return self._post(order, "", lambda: bodies.authorization(request), answers.authorization)

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Ask the bank to begin 3-D Secure, and for the page where its customer authenticates."""
        seconds = _patience_seconds()
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

    def inquire(self, order: Order) -> Standing:
        """Ask what the bank has of an order, within the same bounds and ten seconds."""
        seconds = min(INQUIRY_SECONDS, _patience_seconds())
        if seconds <= 0:
            return Standing(Finding.UNKNOWN)
        course = Course()
        try:
            url = f"{access_of(order.terminal).url}/authorizations/{order.reference}"
            told = wire.get_json(self.session, url, seconds=seconds)
        except CredentialsUnreadable:
            return Standing(Finding.UNKNOWN)
        except wire.NoAnswer:
            return Standing(Finding.UNKNOWN, exchange=course.ended())
        return inquiry.standing(told, order.reference, course)

    def statement(self, terminal: Terminal) -> Iterator[StatementLine] | None:
        """Read the bank's statement page by page until a page is empty."""
        try:
            return self._statement(access_of(terminal).url)
        except CredentialsUnreadable as error:
            raise StatementUnreadable("The terminal's credentials do not open.") from error

    def _operate(self, order: Order, operation: str, sent: dict[str, Any]) -> Outcome:
        path = f"/{order.reference}/{operation}"
        return self._post(order, path, lambda: sent, answers.operation)

    def _post(
        self,
        order: Order,
        path: str,
        sent: Callable[[], dict[str, Any]],
        read: Callable[[Any, str], Outcome],
    ) -> Outcome:
        seconds = _patience_seconds()
        if seconds <= 0:
            return Outcome(Answer.NOT_SENT)
        course = Course()
        try:
            url = f"{access_of(order.terminal).url}/authorizations{path}"
            told = wire.post_json(self.session, url, sent(), seconds=seconds)
        except (wire.NotSent, CredentialsUnreadable):
            return Outcome(Answer.NOT_SENT)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN, exchange=course.ended())
        outcome = read(told, order.reference)
        return replace(outcome, exchange=course.ended(code=outcome.response_code))

    def _statement(self, url: str) -> Iterator[StatementLine]:
        after = ""
        while lines := self._statement_page(url, after):
            yield from lines
            after = lines[-1].reference

    def _statement_page(self, url: str, after: str) -> list[StatementLine]:
        page = f"{url}/statement?{urlencode({'after': after})}"
        try:
            told = wire.get_json(self.session, page, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
            return [answers.statement_line(line) for line in told["lines"]]
        except (wire.NoAnswer, KeyError, TypeError) as error:
            raise StatementUnreadable("The bank's statement cannot be read.") from error


def _patience_seconds() -> float:
    return min(settings.ACQUIRER_TIMEOUT_SECONDS, context.remaining_seconds())
