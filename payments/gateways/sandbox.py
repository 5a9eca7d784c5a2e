"""The gateway of sandbox installations: the test bank, over HTTP."""

from typing import Any

import requests
import structlog
from django.conf import settings

from core import context, keyring
from payments.gateways import sandbox_cards, wire
from payments.gateways.base import Answer, AuthorizationRequest, IssuerFacts, Outcome
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

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def facts(self, number: str) -> IssuerFacts | None:
        """Return the issuer's facts of a sandbox card; None for any other number."""
        return sandbox_cards.facts(number)

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Ask the bank once, within its time-out and what is left of the request's budget."""
        seconds = min(settings.ACQUIRER_TIMEOUT_SECONDS, context.remaining_seconds())
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
