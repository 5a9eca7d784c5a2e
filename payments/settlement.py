"""Applying the bank's answer to an authorisation: the same way for whoever asked."""

from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.db import DatabaseError, transaction

from core import clock, context
from core.errors import InternalError
from ledger import book
from merchants import idempotency
from payments import render, schedule
from payments.gateways.base import NEVER_AT_THE_BANK, Answer, Outcome
from payments.gateways.decline_codes import AUTHENTICATION_FAILED, Decline, explain
from payments.models import Attempt, PaymentIntent
from payments.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT, AttemptStatus, Operation, Status
from payments.transition import move

T = TypeVar("T")
# True of the reference, whatever has become of the attempt since the bank was asked.
BANKS_WORD = (Answer.APPROVED, Answer.DECLINED, Answer.VOIDED, Answer.LAPSED)
log = structlog.get_logger(__name__)


def surely(attempt: Attempt, settle: Callable[[], T]) -> T:
    """Settle; try once more if the database fails, for money may have moved already.

    :raises InternalError: no time is left for a second try.
    """
    try:
        return settle()
    except DatabaseError:
        log.warning("settlement tried again", attempt=attempt.id)
    if context.remaining_seconds() <= 0:
        raise InternalError
    return settle()


def locked(attempt: Attempt) -> tuple[PaymentIntent, Attempt]:
    """Return the payment and its attempt, locked in this order; decide on these only."""
    intent = PaymentIntent.objects.select_related("merchant").lock(attempt.intent_id)
    return intent, intent.attempts.select_for_update().get(id=attempt.id)


def has_gone_on(attempt: Attempt, *, since: Attempt) -> bool:
    """Tell whether the payer was sent to the bank, or came back, after `since` was read.

    :param attempt: the same attempt, locked.
    """
    names = ("status", "acs_url", "authenticated_at")
    return any(getattr(attempt, name) != getattr(since, name) for name in names)


@transaction.atomic(durable=True)
def settle(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer; safe to call twice with the same answer.

    The one function behind the direct answer, a retry's, the payer's return and the
    sweeper's. Left `processing` when the bank has not said what it did.
    """
    idempotency.settle()
    asked_about = attempt
    intent, attempt = locked(attempt)
    if attempt.status not in OPEN_ATTEMPT:
        _reverse_if_late(attempt, outcome)
        return intent  # Somebody else settled it first.
    if outcome.answer not in BANKS_WORD and has_gone_on(attempt, since=asked_about):
        return intent  # It was silent, or we concluded, about what is over.
    before = render.payment_intent(intent)
    status = _apply(intent, attempt, outcome)
    attempt.lease_until = None
    attempt.save()
    if attempt.status not in OPEN_ATTEMPT:
        idempotency.settle_for(attempt.request_id)
    if status == Status.PROCESSING == intent.status:
        return intent  # Still no answer: nothing is told.
    show_attempt(intent, attempt)
    _show_risk(intent, outcome)
    move(intent, status, before, request_id=attempt.request_id)
    return intent


def _reverse_if_late(attempt: Attempt, outcome: Outcome) -> None:
    """Have a charge given back that the bank made after we had given up on it."""
    was_authorized = attempt.authorization_code or attempt.status in SUCCESSFUL_ATTEMPT
    if outcome.answer is not Answer.APPROVED or was_authorized or attempt.operation:
        return
    attempt.operation, attempt.operation_request_id = Operation.REVERSE, attempt.request_id
    schedule.begin_asking(attempt, clock.now())
    attempt.save()
    log.error("charged after the attempt had ended; reversing", attempt=attempt.id)


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    """Write what the answer means into both rows; return the payment's next status."""
    attempt.authorization_code = outcome.authorization_code
    attempt.network_reference = outcome.network_reference
    if outcome.answer is Answer.NO_RECORD:
        schedule.count_no_record(attempt)
    match outcome.answer:
        case Answer.UNKNOWN | Answer.PENDING:
            return _still_unknown(intent, attempt)
        case Answer.NO_RECORD if not schedule.is_known_to_nobody(attempt):
            return _still_unknown(intent, attempt)
        case Answer.APPROVED:
            return _authorized(intent, attempt)
    return _failed(intent, attempt, outcome)


def _still_unknown(intent: PaymentIntent, attempt: Attempt) -> Status:
    intent.last_payment_error = None  # An earlier card's; this one has not failed.
    attempt.status = AttemptStatus.PROCESSING
    attempt.due_at = schedule.next_inquiry_at(attempt, clock.now())
    return Status.PROCESSING


def _authorized(intent: PaymentIntent, attempt: Attempt) -> Status:
    authorized = attempt.amount + attempt.surcharge
    intent.authorized_minor, intent.surcharge = authorized, attempt.surcharge
    intent.last_payment_error = None
    attempt.closed_at = clock.now()
    if attempt.capture_method == PaymentIntent.CaptureMethod.MANUAL:
        intent.amount_capturable = authorized
        attempt.status = AttemptStatus.AUTHORIZED
        attempt.due_at = schedule.expires_at(attempt)
        return Status.REQUIRES_CAPTURE
    return take_money(intent, attempt, authorized)


def take_money(intent: PaymentIntent, attempt: Attempt, captured: int) -> Status:
    """Write a capture into payment, attempt and ledger; in the caller's transaction.

    :param captured: in minor units, surcharge included; the rest is released.
    """
    intent.amount_capturable = 0
    intent.captured_minor = captured
    # A part can be captured only where there is no surcharge.
    intent.captured_surcharge = min(attempt.surcharge, captured)
    attempt.status, attempt.captured_minor = AttemptStatus.SUCCEEDED, captured
    attempt.due_at = None
    book.charge(
        intent.merchant_id,
        amount=captured,
        currency=attempt.currency,
        cause_id=attempt.id,
        now=clock.now(),
    )
    return Status.SUCCEEDED


def _failed(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    attempt.error = error_of(attempt, _reason(attempt, outcome), outcome)
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED:
        attempt.authentication_demanded = True
    return fail(intent, attempt, AttemptStatus.FAILED)


def fail(intent: PaymentIntent, attempt: Attempt, status: AttemptStatus) -> Status:
    """Close an attempt that took nothing, for its `error`; the payer may start over."""
    attempt.status, attempt.closed_at, attempt.due_at = status, clock.now(), None
    intent.last_payment_error = attempt.error
    hold_nothing(intent)
    return Status.REQUIRES_PAYMENT_METHOD


def hold_nothing(intent: PaymentIntent) -> None:
    """Write that neither money nor a card is held; another card, or the same, is given anew."""
    intent.authorized_minor = intent.surcharge = intent.amount_capturable = 0
    intent.sealed_card = None


def error_of(attempt: Attempt, reason: Decline, outcome: Outcome) -> dict[str, Any]:
    """Return `last_payment_error` (contract 2)."""
    is_ours = outcome.answer in NEVER_AT_THE_BANK
    decline_code = None if is_ours else reason.decline_code
    return {
        "type": "api_error" if is_ours else "card_error",
        "code": reason.code,
        "decline_code": decline_code,
        "reason": decline_code or reason.code,
        "message": reason.message,
        "attempt": attempt.id,
        "network_decline_code": outcome.response_code,
        "advice_code": reason.advice_code,
    }


def _reason(attempt: Attempt, outcome: Outcome) -> Decline:
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED and attempt.authentication_demanded:
        return AUTHENTICATION_FAILED
    return explain(outcome)


def show_attempt(intent: PaymentIntent, attempt: Attempt) -> None:
    """Let the payment show the attempt that its new status comes from, and those before it."""
    if attempt.id not in intent.attempt_ids:
        earlier = intent.attempts.filter(created_at__lte=attempt.created_at)
        ids = earlier.order_by("created_at", "id").values_list("id", flat=True)
        intent.attempt_ids = list(ids) if attempt.authentication_demanded else [
            *intent.attempt_ids, attempt.id,
        ]  # fmt: skip
    intent.card, intent.return_url = attempt.card, attempt.return_url
    intent.three_d_secure_requested = attempt.three_d_secure_requested
    intent.three_d_secure_effective = "required" if attempt.authentication_demanded else "none"


def _show_risk(intent: PaymentIntent, outcome: Outcome) -> None:
    if outcome.risk_level:
        is_blocked = outcome.risk_level == "highest"
        intent.fraud = {
            "status": "fraud" if is_blocked else "clear",
            "risk_level": outcome.risk_level,
            "risk_score": outcome.risk_score,
            "rule": "block_highest_risk" if is_blocked else None,
            "updated": clock.unix(clock.now()),
        }
