"""Authorisations: ask the bank for an attempt's money, and apply its answer.

The answer is applied in the same way for the request, its retry, the payer's return and the
sweeper.
"""

from typing import Any

import structlog
from django.db import transaction

import acquirers
from acquirers import exchanges, refused_requests
from acquirers.declines import AUTHENTICATION_FAILED, PROCESSING_ERROR, Decline, explain
from acquirers.gateway import AuthorizationRequest
from acquirers.in_doubt import answers, leases, schedule
from acquirers.outcomes import NEVER_AT_THE_BANK, Answer, Outcome
from acquirers.three_d_secure import Proof
from cases import cases
from cases.states import Kind
from core import clock, local_days, rows
from core.errors import ResourceMissing
from events import transitions
from ledger import book
from ledger.book import Sale
from ledger.models import Movement
from merchants import idempotency
from payments.intents import deadlines, fraud, modification_rows, render, second_word
from payments.intents.endings import end_unpaid
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.orders import order_of
from payments.intents.states import (
    ATTEMPTS,
    OPEN_ATTEMPT,
    SUCCESSFUL_ATTEMPT,
    UNPAID,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    Status,
)
from payments.intents.transition import move

BY_ID = "id = %(id)s::text"

log = structlog.get_logger(__name__)


def authorize(attempt: Attempt, *, cvc: str | None, proof: Proof | None = None) -> Outcome:
    """Ask the bank for the attempt's money, once; the caller holds the lease and no transaction."""
    request = AuthorizationRequest(
        order=order_of(attempt),
        capture=captures_at_once(attempt),
        sealed=attempt.sealed_card,
        cvc=cvc,
        proof=proof,
    )
    return refused_requests.watched(attempt.terminal, acquirers.of(attempt).authorize(request))


def captures_at_once(attempt: Attempt) -> bool:
    """Tell whether the bank takes the money with its yes."""
    return attempt.capture_method == PaymentIntent.CaptureMethod.AUTOMATIC


def locked(attempt: Attempt) -> tuple[PaymentIntent, Attempt]:
    """Return the payment and its attempt, locked in this order; decide on these only."""
    intent = rows.lock(PaymentIntent, BY_ID, id=attempt.intent_id)
    fresh = rows.lock(Attempt, BY_ID, id=attempt.id)
    if intent is None or fresh is None:
        raise ResourceMissing
    fresh.intent = intent
    if Attempt.intent.is_cached(attempt) and PaymentIntent.merchant.is_cached(attempt.intent):
        intent.merchant = attempt.intent.merchant  # Its changing columns are none of the payment's.
    return intent, fresh


@transaction.atomic(durable=True)
def apply(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer; safe to call twice with the same answer.

    The direct answer, a retry, the payer's return and the sweeper all end here. The payment stays
    `processing` while the bank has not said whether it charged.
    """
    return applied(attempt, outcome, request_id=attempt.request_id)


def applied(asked: Attempt, outcome: Outcome, *, request_id: str) -> PaymentIntent:
    """Apply the bank's answer as `apply` does, in the caller's transaction.

    :param request_id: the request that the event names as its cause: the one that began the
        attempt, or an operator's, whose decision stands in for the bank's answer.
    """
    intent, attempt = locked(asked)
    exchanges.record_inquiry(attempt, outcome)
    if attempt.status not in OPEN_ATTEMPT:
        idempotency.finish()
        _hear_late(intent, attempt, outcome)
        return intent  # Another process has applied an answer already.
    if not answers.counts(outcome, asked=asked, locked=attempt):
        return intent  # The new holder of the lease may have sent what this asker did not.
    before = render.payment_intent(intent)
    status = _apply(intent, attempt, outcome)
    fraud.hear_bank(attempt, outcome)
    leases.end_with(attempt)
    rows.update(attempt)
    if attempt.status not in OPEN_ATTEMPT:
        idempotency.finish_for(attempt.merchant_id, attempt.request_id)
    if status == Status.PROCESSING == intent.status:
        idempotency.finish()
        return intent  # Still no answer: no event.
    show_attempt(intent, attempt)
    move(intent, status, before, request_id=request_id, answer=idempotency.answer)
    return intent


def _hear_late(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> None:
    """Take in what the bank says of an attempt that has ended."""
    _reverse_if_late(attempt, outcome)
    if not second_word.hear(intent, attempt, outcome):
        _ask_no_longer_than_needed(attempt, outcome)


def _reverse_if_late(attempt: Attempt, outcome: Outcome) -> None:
    """Begin to reverse a charge that the bank made although the attempt had closed without one.

    The sweeper asks the bank for it, until it has given the money back.
    """
    was_authorized = attempt.authorization_code or attempt.status in SUCCESSFUL_ATTEMPT
    if outcome.answer is not Answer.APPROVED or was_authorized or _is_reversed(attempt):
        return
    modification_rows.leave_to_sweeper(
        attempt, ModificationKind.REVERSE, request_id=attempt.request_id
    )
    cases.open_case(Kind.LATE_SUCCESS_REVERSED, attempt)
    log.error("attempt_charged_late", attempt=attempt.id)


def _ask_no_longer_than_needed(attempt: Attempt, outcome: Outcome) -> None:
    """Let the bank be asked about an attempt that ended unpaid until it is known what it holds."""
    if attempt.due_at is None or attempt.status not in UNPAID:
        return
    if outcome.answer is Answer.NO_RECORD:
        schedule.count_no_record(attempt)
    if not _is_unknown(attempt, outcome):
        schedule.never_look(attempt)
    leases.end_with(attempt)
    attempt.save()


def _is_unknown(attempt: Attempt, outcome: Outcome) -> bool:
    if outcome.answer is Answer.NO_RECORD:
        return not schedule.absence_is_confirmed(attempt)
    return outcome.answer in (Answer.UNKNOWN, Answer.PENDING)


def _is_reversed(attempt: Attempt) -> bool:
    rows = attempt.modifications.filter(kind=ModificationKind.REVERSE)
    return rows.exclude(status=ModificationStatus.FAILED).exists()


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    """Write the answer's consequences into both rows; return the payment's next status."""
    attempt.authorization_code = outcome.authorization_code
    attempt.network_reference = outcome.network_reference
    attempt.bank_code, attempt.bank_text = outcome.exchange.code, outcome.exchange.text
    attempt.bank_numbers = {**(attempt.bank_numbers or {}), **outcome.exchange.numbers} or None
    if outcome.answer is Answer.NO_RECORD:
        schedule.count_no_record(attempt)
    if _is_unknown(attempt, outcome):
        return _still_unknown(intent, attempt)
    if outcome.answer is Answer.APPROVED:
        return _authorized(intent, attempt)
    return _failed(intent, attempt, outcome)


def _still_unknown(intent: PaymentIntent, attempt: Attempt) -> Status:
    intent.last_payment_error = None  # An earlier card's; this one has not failed.
    if attempt.status != AttemptStatus.PROCESSING:
        transitions.change(attempt, AttemptStatus.PROCESSING, table=ATTEMPTS)
    schedule.ask_later(attempt)
    return Status.PROCESSING


def _authorized(intent: PaymentIntent, attempt: Attempt) -> Status:
    authorized = attempt.amount + attempt.surcharge
    intent.authorized_minor, intent.surcharge = authorized, attempt.surcharge
    intent.last_payment_error = None
    attempt.closed_at = clock.now()
    if attempt.capture_method == PaymentIntent.CaptureMethod.MANUAL:
        intent.amount_capturable = authorized
        transitions.change(attempt, AttemptStatus.AUTHORIZED, table=ATTEMPTS)
        schedule.look_at(attempt, deadlines.expires_at(attempt))
        return Status.REQUIRES_CAPTURE
    return take_money(intent, attempt, authorized)


def take_money(intent: PaymentIntent, attempt: Attempt, captured: int) -> Status:
    """Write a capture into payment, attempt and ledger; in the caller's transaction.

    :param captured: in minor units, surcharge included; the rest is released.
    """
    intent.amount_capturable = 0
    intent.captured_minor = captured
    # A part can be captured only if there is no surcharge, so it is captured whole.
    intent.captured_surcharge = min(attempt.surcharge, captured)
    attempt.captured_minor, attempt.captured_at = captured, clock.now()
    transitions.change(attempt, AttemptStatus.SUCCEEDED, table=ATTEMPTS)
    schedule.never_look(attempt)
    attempt.fee = _charge(intent, attempt).fee
    return Status.SUCCEEDED


def _charge(intent: PaymentIntent, attempt: Attempt) -> Movement:
    now = clock.now()
    sale = Sale(
        amount=attempt.captured_minor,
        surcharge=intent.captured_surcharge,
        currency=attempt.currency,
        card_type=attempt.card["card_type"],
        installments=attempt.installments,
        source_id=intent.id,
    )
    here = local_days.of(now, intent.merchant.timezone)
    return book.charge(intent.merchant_id, sale, cause_id=attempt.id, captured_on=here, now=now)


def _failed(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    reason = _reason(attempt, outcome)
    attempt.error = error_of(attempt, reason, outcome)
    # A bank that cannot answer says nothing about the card.
    attempt.is_declined = outcome.answer is Answer.DECLINED and reason is not PROCESSING_ERROR
    if outcome.answer is Answer.AUTHENTICATION_REQUIRED:
        attempt.authentication_demanded = True
    return fail(intent, attempt, AttemptStatus.FAILED)


def fail(intent: PaymentIntent, attempt: Attempt, status: AttemptStatus) -> Status:
    """Close an attempt that took nothing; the payment shows its `error` and takes another card.

    :returns: the status that the caller moves the payment to.
    """
    end_unpaid(attempt, status)
    attempt.closed_at = clock.now()
    intent.last_payment_error = attempt.error
    _hold_nothing(intent)
    return Status.REQUIRES_PAYMENT_METHOD


def cancel(intent: PaymentIntent, reason: str | None) -> Status:
    """Write a cancellation into a locked payment; the bank holds no money for it any more.

    :returns: the status that the caller moves the payment to.
    """
    _hold_nothing(intent)
    intent.canceled_at, intent.cancellation_reason = clock.now(), reason
    return Status.CANCELED


def _hold_nothing(intent: PaymentIntent) -> None:
    """Write that neither money nor a card is held; the next confirm must bring a card."""
    intent.authorized_minor = intent.surcharge = intent.amount_capturable = 0
    intent.sealed_card = None


def error_of(attempt: Attempt, reason: Decline, outcome: Outcome) -> dict[str, Any]:
    """Return the error of a failed attempt, which the payment shows as `last_payment_error`.

    An answer that never came from the bank is an `api_error` without a decline code (contract 2).
    """
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
    """Copy into the payment what it shows of the attempt that its new status comes from.

    Earlier attempts that it does not list yet are listed too: a soft decline had no event.
    """
    if attempt.id not in intent.attempt_ids:
        intent.attempt_ids = (
            _up_to(attempt, intent)
            if attempt.authentication_demanded
            else [*intent.attempt_ids, attempt.id]
        )
    intent.card, intent.return_url = attempt.card, attempt.return_url
    intent.installments = attempt.installments
    intent.three_d_secure_requested = attempt.three_d_secure_requested
    intent.three_d_secure_effective = "required" if attempt.authentication_demanded else "none"
    fraud.show(intent, attempt)


def _up_to(attempt: Attempt, intent: PaymentIntent) -> list[str]:
    earlier = intent.attempts.filter(created_at__lte=attempt.created_at)
    return list(earlier.order_by("created_at", "id").values_list("id", flat=True))
