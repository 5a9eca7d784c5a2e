"""Applying the bank's answer: the one place where a payment's status changes."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from core import clock
from events import outbox
from ledger import book
from merchants import idempotency
from payments import render
from payments.gateways.base import NEVER_AT_THE_BANK, Answer, Outcome
from payments.gateways.decline_codes import Decline, explain
from payments.models import Attempt, PaymentIntent
from payments.states import OPEN_ATTEMPT, AttemptStatus, Status, event_of

AUTHENTICATION_FAILED = Decline(
    "authentication_failed",
    None,
    "The payment was not confirmed with your bank. Try again, or use another card.",
    None,
)
# How long to wait before the first inquiry, the second, …; the last wait repeats (contract 3).
INQUIRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
# "No record" counts once the request cannot be on its way to the bank any more.
NO_RECORD_COUNTS_AFTER = timedelta(seconds=60)
NO_RECORDS_NEEDED = 3


@transaction.atomic(durable=True)
def settle(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer; safe to call twice with the same answer.

    The one function behind the direct answer, a retry's and the sweeper's. Left
    `processing` when the bank has not said what it did.
    """
    idempotency.settle()
    intent = PaymentIntent.objects.select_related("merchant").lock(attempt.intent_id)
    attempt = intent.attempts.select_for_update().get(id=attempt.id)
    if attempt.status not in OPEN_ATTEMPT:
        return intent  # Somebody else settled it first.
    before = render.payment_intent(intent)
    status = _apply(intent, attempt, outcome)
    attempt.lease_until = None
    attempt.save()
    if status == Status.PROCESSING == intent.status:
        return intent  # Still no answer: nothing is told.
    _show_attempt(intent, attempt, outcome)
    _move(intent, status, before, request_id=attempt.request_id)
    return intent


def next_inquiry_at(attempt: Attempt, now: datetime) -> datetime:
    """Return when the bank is asked again, if it is asked now in vain (contract 3)."""
    return now + INQUIRY_WAITS[min(attempt.inquiry_count, len(INQUIRY_WAITS) - 1)]


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    """Write what the answer means into both rows; return the payment's next status."""
    attempt.authorization_code = outcome.authorization_code
    attempt.network_reference = outcome.network_reference
    match outcome.answer:
        case Answer.UNKNOWN | Answer.PENDING:
            return _still_unknown(attempt)
        case Answer.NO_RECORD if not _is_last_no_record(attempt):
            return _still_unknown(attempt)
        case Answer.APPROVED:
            return _authorized(intent, attempt)
    return _failed(intent, attempt, outcome)


def _still_unknown(attempt: Attempt) -> Status:
    attempt.next_inquiry_at = next_inquiry_at(attempt, clock.now())
    return Status.PROCESSING


def _is_last_no_record(attempt: Attempt) -> bool:
    """Count a "no record", and tell whether the bank has said so often enough (contract 3)."""
    timed_out_at = attempt.asked_at + timedelta(seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
    if clock.now() >= timed_out_at + NO_RECORD_COUNTS_AFTER:
        attempt.no_record_count += 1
    return attempt.no_record_count >= NO_RECORDS_NEEDED


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
    is_ours = outcome.answer in NEVER_AT_THE_BANK
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


def _move(
    intent: PaymentIntent, status: Status, before: dict[str, Any], *, request_id: str
) -> None:
    event = event_of(intent.status, status)
    intent.status = status
    intent.save()
    body = render.payment_intent(intent)
    outbox.record(intent.merchant, event, body, before, request_id=request_id)
