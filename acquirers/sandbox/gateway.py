"""The gateway of sandbox installations: the test bank, over HTTP."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import requests
import structlog
from django.conf import settings

from acquirers import wire
from acquirers.gateway import (
    Answer,
    Authentication,
    AuthenticationRequest,
    AuthorizationRequest,
    Challenge,
    IssuerFacts,
    Outcome,
    StatementLine,
    StatementUnreadable,
)
from acquirers.sandbox import answers as answers
from acquirers.sandbox import authentication, cards
from core import context, keyring
from core.cards import CardData
from vault import reveal
from vault.models import SealedCard

log = structlog.get_logger(__name__)


# The caller may be a request that still has work to do, so an inquiry gets at most 10 s of its
# budget.
INQUIRY_SECONDS = 10.0


class SandboxGateway:
    """The way to the test bank; through `session` tests run the bank in their own process."""

    references_are_idempotent = True

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def facts(self, number: str) -> IssuerFacts | None:
        """Return the issuer's facts of a sandbox card; None for any other number."""
        return cards.facts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one authorisation, within the bank's time-out and the request's time budget."""
        return self._post(
            "", lambda: _order(request), lambda told: answers.authorization(told, request.reference)
        )

    def inquire(self, reference: str) -> Outcome:
        """Ask for the outcome of an authorisation, within the same bounds and ten seconds."""
        seconds = min(INQUIRY_SECONDS, _patience_seconds())
        if seconds <= 0:
            return Outcome(Answer.UNKNOWN)
        url = f"{settings.TESTBANK_URL}/authorizations/{reference}"
        try:
            told = wire.get_json(self.session, url, seconds=seconds)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN)
        return answers.inquiry(told, reference)

    def capture(self, reference: str, *, amount: int) -> Outcome:
        """Take authorised money; the same amount again counts as the same capture."""
        return self._operate(reference, "capture", {"amount": amount})

    def void(self, reference: str) -> Outcome:
        """Release an authorised amount; safe to repeat."""
        return self._operate(reference, "void", {})

    def start_authentication(self, request: AuthenticationRequest) -> Challenge | None:
        """Ask the bank to begin 3-D Secure, and for the page where its customer authenticates."""
        seconds = _patience_seconds()
        if seconds <= 0:
            return None
        url = f"{settings.TESTBANK_URL}/authentications"
        try:
            told = wire.post_json(self.session, url, _enrolment(request), seconds=seconds)
        except (wire.NotSent, wire.NoAnswer):
            return None  # This request charges nothing, so no inquiry has to follow.
        return answers.challenge(told, request.reference)

    def read_authentication(self, fields: Mapping[str, str]) -> Authentication:
        """Verify the bank's answer by the key that the bank and this installation share."""
        key = settings.TESTBANK_SIGNING_KEY
        assert key is not None  # Only a live installation has none, and it has no test bank.
        return authentication.verified(fields, key=key)

    def _operate(self, reference: str, operation: str, sent: dict[str, Any]) -> Outcome:
        return self._post(
            f"/{reference}/{operation}",
            lambda: sent,
            lambda told: answers.operation(told, reference),
        )

    def _post(
        self, path: str, sent: Callable[[], dict[str, Any]], read: Callable[[Any], Outcome]
    ) -> Outcome:
        seconds = _patience_seconds()
        if seconds <= 0:
            return Outcome(Answer.NOT_SENT)
        url = f"{settings.TESTBANK_URL}/authorizations{path}"
        try:
            return read(wire.post_json(self.session, url, sent(), seconds=seconds))
        except wire.NotSent:
            return Outcome(Answer.NOT_SENT)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN)

    def statement(self) -> Iterator[StatementLine]:
        """Read the bank's statement page by page until a page is empty."""
        after = ""
        while lines := self._statement_page(after):
            yield from lines
            after = lines[-1].reference

    def _statement_page(self, after: str) -> list[StatementLine]:
        url = f"{settings.TESTBANK_URL}/statement?{urlencode({'after': after})}"
        try:
            told = wire.get_json(self.session, url, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
            return [answers.statement_line(line) for line in told["lines"]]
        except (wire.NoAnswer, KeyError, TypeError) as error:
            raise StatementUnreadable("The bank's statement cannot be read.") from error


def _patience_seconds() -> float:
    return min(settings.ACQUIRER_TIMEOUT_SECONDS, context.remaining_seconds())


def _order(request: AuthorizationRequest) -> dict[str, Any]:
    order = _terms(request)
    order["capture"] = request.capture
    if request.proof:
        order["authentication"] = {
            "transaction_id": request.proof.transaction_id,
            "eci": request.proof.eci,
            "cavv": request.proof.cavv,
        }
    return order


def _enrolment(request: AuthenticationRequest) -> dict[str, Any]:
    return {
        **_terms(request),
        "merchant_name": request.merchant_name,
        "callback_url": request.callback_url,
        "return_url": request.return_url,
    }


def _terms(request: AuthorizationRequest | AuthenticationRequest) -> dict[str, Any]:
    card = _revealed(request.sealed)
    return {
        "reference": request.reference,
        "merchant": request.merchant_id,
        "amount": request.amount,
        "currency": request.currency,
        "card": {
            "number": card.number,
            "exp_month": card.exp_month,
            "exp_year": card.exp_year,
            "cvc": request.cvc,
            "holder_name": card.holder_name,
        },
    }


def _revealed(sealed: SealedCard) -> CardData:
    """Return the card in clear.

    :raises wire.NotSent: the sealed card does not open, or was destroyed. An operator has to look
        into it, but nothing left this machine.
    """
    try:
        return reveal.reveal(sealed)
    except (reveal.CardDestroyed, keyring.SealBroken, keyring.UnknownKey) as problem:
        log.error("card_not_revealed", error=type(problem).__name__, vault_token=sealed.token)
        raise wire.NotSent from problem
