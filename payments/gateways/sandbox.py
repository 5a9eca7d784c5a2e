"""The gateway of sandbox installations: the test bank, over HTTP."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import requests
import structlog
from django.conf import settings

from core import context, keyring
from payments.gateways import sandbox_cards, wire
from payments.gateways.base import (
    Answer,
    AuthorizationRequest,
    IssuerFacts,
    Outcome,
    StatementLine,
    StatementUnreadable,
)
from vault import reveal

log = structlog.get_logger(__name__)

ANSWERS = {
    "approved": Answer.APPROVED,
    "declined": Answer.DECLINED,
    "authentication_required": Answer.AUTHENTICATION_REQUIRED,
    "pending": Answer.PENDING,
}


class SandboxGateway:
    """The door to the test bank. `session` is the seam where tests put the bank in-process."""

    references_are_idempotent = True

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def facts(self, number: str) -> IssuerFacts | None:
        """Return the issuer's facts of a sandbox card; None for any other number."""
        return sandbox_cards.facts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Ask the bank once, within its time-out and what is left of the request's budget."""
        seconds = _patience_seconds()
        if seconds <= 0:
            return Outcome(Answer.NOT_SENT)
        try:
            order = _order(request)
        except (reveal.CardDestroyed, keyring.SealBroken, keyring.UnknownKey) as problem:
            # Ours to repair, but nothing left this machine: the payer may try another card.
            kind, token = type(problem).__name__, request.sealed.token
            log.error("card_not_revealed", error=kind, vault_token=token)
            return Outcome(Answer.NOT_SENT)
        url = f"{settings.TESTBANK_URL}/authorizations"
        try:
            told = wire.post_json(self.session, url, order, seconds=seconds)
        except wire.NotSent:
            return Outcome(Answer.NOT_SENT)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN)
        return _outcome(told, reference=request.reference)

    def inquire(self, reference: str) -> Outcome:
        """Ask what became of an authorisation, within the same bounds."""
        seconds = _patience_seconds()
        if seconds <= 0:
            return Outcome(Answer.UNKNOWN)
        url = f"{settings.TESTBANK_URL}/authorizations/{reference}"
        try:
            told = wire.get_json(self.session, url, seconds=seconds)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN)
        if told == {"reference": reference, "result": "no_record"}:
            return Outcome(Answer.NO_RECORD)
        return _outcome(told, reference=reference)

    def statement(self) -> Iterator[StatementLine]:
        """Read the bank's book page by page until a page is empty."""
        after = ""
        while lines := self._statement_page(after):
            yield from lines
            after = lines[-1].reference

    def _statement_page(self, after: str) -> list[StatementLine]:
        url = f"{settings.TESTBANK_URL}/statement?{urlencode({'after': after})}"
        try:
            told = wire.get_json(self.session, url, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
            return [_line(line) for line in told["lines"]]
        except (wire.NoAnswer, KeyError, TypeError) as error:
            raise StatementUnreadable("The bank's statement cannot be read.") from error


def _patience_seconds() -> float:
    return min(settings.ACQUIRER_TIMEOUT_SECONDS, context.remaining_seconds())


def _line(told: dict[str, Any]) -> StatementLine:
    return StatementLine(
        reference=told["reference"],
        merchant_id=told["merchant"],
        authorized=told["amount"] if told["state"] == "authorized" else 0,
        captured=told["captured_amount"],
        currency=told["currency"],
    )


def _order(request: AuthorizationRequest) -> dict[str, Any]:
    card = reveal.reveal(request.sealed)
    return {
        "reference": request.reference,
        "merchant": request.merchant_id,
        "amount": request.amount,
        "currency": request.currency,
        "capture": request.capture,
        "card": {
            "number": card.number,
            "exp_month": card.exp_month,
            "exp_year": card.exp_year,
            "cvc": request.cvc,
            "holder_name": card.holder_name,
        },
    }


def _outcome(told: Any, *, reference: str) -> Outcome:
    """Read the bank's answer; one that is not about this reference tells nothing."""
    try:
        if told["reference"] != reference:
            return Outcome(Answer.UNKNOWN)
        return Outcome(
            answer=ANSWERS[told["result"]],
            response_code=_text(told["response_code"]),
            authorization_code=_text(told["authorization_code"]),
            network_reference=_text(told["network_reference"]),
            risk_level=_text(told["risk"]["level"]),
            risk_score=_score(told["risk"]["score"]),
        )
    except (KeyError, TypeError, ValueError):
        return Outcome(Answer.UNKNOWN)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


def _score(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 100:
        raise ValueError
    return value
