"""Applying the bank's answer: the one place where a payment's status changes."""

from typing import Any

from django.db import transaction

from core import clock
from events import outbox
from ledger import book
from payments import render
from payments.gateways.base import Answer, Outcome
from payments.gateways.decline_codes import Decline, explain
from payments.models import Attempt, PaymentIntent
from payments.states import OPEN_ATTEMPT, AttemptStatus, Status, event_of

AUTHENTICATION_FAILED = Decline(
    "authentication_failed",
    None,
    "The payment was not confirmed with your bank. Try again, or use another card.",
    None,
)


@transaction.atomic(durable=True)
def settle(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer; safe to call twice with the same answer.

    Left `processing` when the bank has not said what it did.
    """
    intent = PaymentIntent.objects.select_related("merchant").lock(attempt.intent_id)
    attempt = intent.attempts.select_for_update().get(id=attempt.id)
    if attempt.status not in OPEN_ATTEMPT:
        return intent  # Somebody else settled it first.
    before = render.payment_intent(intent)
    status = _apply(intent, attempt, outcome)
    if status == Status.PROCESSING == intent.status:
        return intent  # Still no answer: nothing changed, nothing is told.
    _show_attempt(intent, attempt, outcome)
    attempt.save()
    _move(intent, status, before)
    return intent


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    """Write what the answer means into both rows; return the payment's next status."""
    attempt.authorization_code = outcome.authorization_code
    attempt.network_reference = outcome.network_reference
    match outcome.answer:
        case Answer.UNKNOWN | Answer.PENDING:
            return Status.PROCESSING
        case Answer.APPROVED:
            return _authorized(intent, attempt)
    return _failed(intent, attempt, outcome)


def _authorized(intent: PaymentIntent, attempt: Attempt) -> Status:
    authorized = attempt.amount + attempt.surcharge
    intent.authorized_minor, intent.surcharge = authorized, attempt.surcharge
    intent.last_payment_error = None
    attempt.closed_at = clock.now()
    if attempt.capture_method == PaymentIntent.CaptureMethod.MANUAL:
        intent.amount_capturable = authorized
        attempt.status = AttemptStatus.AUTHORIZED
        return Status.REQUIRES_CAPTURE
    intent.captured_minor, intent.captured_surcharge = authorized, attempt.surcharge
    attempt.status = AttemptStatus.SUCCEEDED
    book.charge(
        intent.merchant_id,
        amount=authorized,
        currency=attempt.currency,
        cause_id=attempt.id,
        now=attempt.closed_at,
    )
    return Status.SUCCEEDED


def _failed(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED:
        attempt.authentication_demanded = True
    attempt.status, attempt.closed_at = AttemptStatus.FAILED, clock.now()
    attempt.error = _error(attempt, outcome)
    intent.last_payment_error = attempt.error
    intent.sealed_card = None  # The payer starts over with a card given anew.
    return Status.REQUIRES_PAYMENT_METHOD


def _error(attempt: Attempt, outcome: Outcome) -> dict[str, Any]:
    """Return `last_payment_error` (contract 2)."""
    decline = _reason(attempt, outcome)
    is_ours = outcome.answer is Answer.NOT_SENT
    decline_code = None if is_ours else decline.decline_code
    return {
        "type": "api_error" if is_ours else "card_error",
        "code": decline.code,
        "decline_code": decline_code,
        "reason": decline_code or decline.code,
        "message": decline.message,
        "attempt": attempt.id,
        "network_decline_code": outcome.response_code,
        "advice_code": decline.advice_code,
    }


def _reason(attempt: Attempt, outcome: Outcome) -> Decline:
    # With an address to come back to, the payer could have been sent to the bank.
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED and attempt.return_url:
        return AUTHENTICATION_FAILED
    return explain(outcome)


def _show_attempt(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> None:
    """Let the payment show the attempt that its new status comes from."""
    if attempt.id not in intent.attempt_ids:
        intent.attempt_ids = [*intent.attempt_ids, attempt.id]
    intent.card, intent.return_url = attempt.card, attempt.return_url
    intent.three_d_secure_requested = attempt.three_d_secure_requested
    intent.three_d_secure_effective = "required" if attempt.authentication_demanded else "none"
    if outcome.risk_level:
        is_blocked = outcome.risk_level == "highest"
        intent.fraud = {
            "status": "fraud" if is_blocked else "clear",
            "risk_level": outcome.risk_level,
            "risk_score": outcome.risk_score,
            "rule": "block_highest_risk" if is_blocked else None,
            "updated": clock.unix(clock.now()),
        }


def _move(intent: PaymentIntent, status: Status, before: dict[str, Any]) -> None:
    event = event_of(intent.status, status)
    intent.status = status
    intent.save()
    outbox.record(intent.merchant, event, render.payment_intent(intent), before)
