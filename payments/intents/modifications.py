"""Modifications of an authorised attempt at the bank: capture it, void it, give it back.

The operation is written into the attempt before the bank is asked. The first process that learns
how it ended applies the answer: the request, its retry, or the sweeper.
"""

from collections.abc import Callable
from typing import NamedTuple

from django.db import transaction

import acquirers
from acquirers import standings
from acquirers.declines import PROCESSING_ERROR
from acquirers.gateway import NEVER_AT_THE_BANK, NEVER_SENT, Answer, Deed, Outcome
from core import clock, context
from merchants import idempotency
from payments.intents import authorization, leases, render, schedule
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.orders import order_of
from payments.intents.states import AttemptStatus, ModificationKind, Status
from payments.intents.transition import move

EXPIRED = "expired"
RELEASED = (Answer.APPROVED, Answer.LAPSED)


class Applied(NamedTuple):
    """The payment and its attempt as `apply` left them.

    :param has_counted: False if the answer was dropped, because another process has taken the
        operation over and may have asked the bank for something else.
    """

    intent: PaymentIntent
    attempt: Attempt
    has_counted: bool = True


def begin(
    attempt: Attempt,
    operation: ModificationKind,
    *,
    amount: int | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> None:
    """Write into the attempt what the bank will be asked for, and take the attempt's lease.

    The caller has locked payment and attempt, and asks the bank after the commit.

    :param amount: of a capture, in minor units.
    :param reason: of a cancellation.
    :param request_id: None for the current request; empty if the sweeper began the operation: its
        event then names the work that ends it.
    """
    attempt.operation, attempt.operation_amount = operation, amount
    attempt.operation_request_id = context.request_id() if request_id is None else request_id
    attempt.cancellation_reason = reason
    attempt.lease_until = leases.end()
    schedule.begin_asking(attempt, clock.now())
    attempt.save()


def run(attempt: Attempt) -> tuple[PaymentIntent, Outcome]:
    """Ask the bank for the attempt's operation and apply its answer; the caller holds the lease."""
    return _run(attempt, _order)


def run_again(attempt: Attempt) -> tuple[PaymentIntent, Outcome]:
    """Ask for an operation once more; the first request may have reached the bank, or may yet.

    So "not sent" counts as unknown here. Only for a bank whose references are idempotent.
    """
    return _run(attempt, lambda attempt: _in_doubt(_order(attempt)))


def _run(attempt: Attempt, order: Callable[[Attempt], Outcome]) -> tuple[PaymentIntent, Outcome]:
    context.mark_irrevocable()
    with leases.given_back(attempt):
        outcome = order(attempt)
        applied = authorization.apply_with_retry(attempt, lambda: apply(attempt, outcome))
        falling = applied.attempt
        if falling.operation == ModificationKind.FALL_BACK and outcome.answer is Answer.DECLINED:
            released = _void(falling)
            applied = authorization.apply_with_retry(falling, lambda: apply(falling, released))
    return applied.intent, outcome if applied.has_counted else Outcome(Answer.UNKNOWN)


def ask(attempt: Attempt) -> Outcome:
    """Inquire how the operation ended; one that must succeed in the end is asked for again.

    That is every release that no merchant asked for: of a refused capture, of a late charge, of an
    expired authorisation.
    """
    is_ours = attempt.operation in (ModificationKind.FALL_BACK, ModificationKind.REVERSE)
    if is_ours or attempt.cancellation_reason == EXPIRED:
        return _in_doubt(_void(attempt))
    return _inquire(attempt)


def _in_doubt(outcome: Outcome) -> Outcome:
    # This request did not reach the bank; an earlier one may have.
    return Outcome(Answer.UNKNOWN) if outcome.answer in NEVER_SENT else outcome


def _order(attempt: Attempt) -> Outcome:
    if attempt.operation == ModificationKind.CAPTURE:
        gateway = acquirers.of(attempt)
        return gateway.capture(order_of(attempt), amount=_asked_amount(attempt))
    return _void(attempt)


def _asked_amount(attempt: Attempt) -> int:
    assert attempt.operation_amount is not None  # `captures` begins no capture without one.
    return attempt.operation_amount


def _void(attempt: Attempt) -> Outcome:
    outcome = acquirers.of(attempt).void(order_of(attempt))
    if outcome.answer is not Answer.DECLINED:
        return outcome
    # The bank may refuse because it holds nothing any more: then the release is done.
    known = _inquire(attempt)
    return known if known.answer in RELEASED else outcome


def _inquire(attempt: Attempt) -> Outcome:
    """Inquire about the authorisation, and translate its state into an answer to the operation."""
    deed = Deed.CAPTURE if attempt.operation == ModificationKind.CAPTURE else Deed.VOID
    return standings.modification(acquirers.of(attempt).inquire(order_of(attempt)), deed)


@transaction.atomic(durable=True)
def apply(attempt: Attempt, outcome: Outcome) -> Applied:
    """Apply the bank's answer to the operation that it was asked about; safe to call twice.

    :param attempt: as the asker read it, with the operation it asked for and its lease.
    """
    asked = attempt
    intent, attempt = authorization.locked(asked)
    if attempt.operation is None or attempt.operation_request_id != asked.operation_request_id:
        idempotency.finish()
        return Applied(intent, attempt)  # Another process has applied an answer already.
    if not _counts(outcome, asked, attempt):
        return Applied(intent, attempt, has_counted=False)
    request_id = attempt.operation_request_id or context.request_id()
    before, operation = render.payment_intent(intent), attempt.operation
    status = _apply(intent, attempt, outcome)
    # A refused capture is not over: the caller goes on to release it, and keeps the lease.
    if attempt.operation in (None, operation):
        idempotency.finish()
        attempt.lease_until = None
    if attempt.operation is None:
        idempotency.finish_for(attempt.merchant_id, request_id)
    attempt.save()
    if status != intent.status:
        move(intent, status, before, request_id=request_id)
    return Applied(intent, attempt)


def _counts(outcome: Outcome, asked: Attempt, locked: Attempt) -> bool:
    """Tell whether the answer is about the operation under way, and its asker may apply it.

    The bank's word counts from every asker; silence and "not sent" from the lease's holder only.
    """
    if locked.operation != asked.operation:
        return False  # The refused capture is being released by now.
    is_banks_word = outcome.answer in authorization.BANKS_WORD
    return is_banks_word or not authorization.is_overtaken(asked, locked)


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    answer = outcome.answer
    if answer is Answer.NO_RECORD:
        schedule.count_no_record(attempt)
        if not schedule.absence_is_confirmed(attempt):
            answer = Answer.UNKNOWN
    if answer in (Answer.UNKNOWN, Answer.PENDING):
        return _still_unknown(intent, attempt)
    match attempt.operation:
        case ModificationKind.CAPTURE:
            return _captured(intent, attempt, outcome)
        case ModificationKind.VOID:
            return _voided(intent, attempt, outcome)
        case ModificationKind.FALL_BACK:
            return _fallen_back(intent, attempt, outcome)
    return _reversed(intent, attempt, outcome)


def _still_unknown(intent: PaymentIntent, attempt: Attempt) -> Status:
    attempt.due_at = schedule.next_inquiry_at(attempt, clock.now())
    # A release that no merchant asked for stays invisible to them until it is done.
    is_ours = (
        attempt.operation == ModificationKind.REVERSE or attempt.cancellation_reason == EXPIRED
    )
    return Status(intent.status) if is_ours else Status.PROCESSING


def _captured(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    amount = outcome.captured or _asked_amount(attempt)
    if outcome.answer is Answer.DECLINED:
        attempt.operation = ModificationKind.FALL_BACK
        attempt.error = authorization.error_of(attempt, PROCESSING_ERROR, outcome)
        return Status(intent.status)
    attempt.operation = attempt.operation_amount = attempt.operation_request_id = None
    if outcome.answer is Answer.APPROVED:
        return authorization.take_money(intent, attempt, amount)
    if outcome.answer is Answer.LAPSED:
        return _cancel(intent, attempt, EXPIRED)
    return _not_done(attempt)


def _voided(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    attempt.operation = attempt.operation_request_id = None
    if outcome.answer in RELEASED:
        return _cancel(intent, attempt, attempt.cancellation_reason)
    return _not_done(attempt)


def _fallen_back(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    if outcome.answer in NEVER_AT_THE_BANK:
        return _still_unknown(intent, attempt)
    attempt.operation = attempt.operation_amount = attempt.operation_request_id = None
    if outcome.answer is Answer.LAPSED:
        # The bank says that the authorisation has expired (contract 3). That is no failure of the
        # card, so the payment does not ask for another one.
        attempt.error = None
        return _cancel(intent, attempt, EXPIRED)
    if outcome.answer is Answer.APPROVED:
        return authorization.fail(intent, attempt, AttemptStatus.FAILED)
    return _not_done(attempt)


def _reversed(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    if outcome.answer in RELEASED:
        attempt.operation = attempt.operation_request_id = attempt.due_at = None
        attempt.reversed_at = clock.now()
        return Status(intent.status)
    return _still_unknown(intent, attempt)


def _cancel(intent: PaymentIntent, attempt: Attempt, reason: str | None) -> Status:
    attempt.status, attempt.due_at = AttemptStatus.CANCELED, None
    return close(intent, reason)


def close(intent: PaymentIntent, reason: str | None) -> Status:
    """Write a cancellation into a locked payment; the bank holds no money for it any more.

    :returns: the status that the caller moves the payment to.
    """
    authorization.hold_nothing(intent)
    intent.canceled_at, intent.cancellation_reason = clock.now(), reason
    return Status.CANCELED


def _not_done(attempt: Attempt) -> Status:
    now = clock.now()
    attempt.cancellation_reason = attempt.error = None
    attempt.due_at = max(schedule.expires_at(attempt), schedule.next_inquiry_at(attempt, now))
    return Status.REQUIRES_CAPTURE
