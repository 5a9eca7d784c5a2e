"""What a bank does with an authorised attempt: capture it, void it, give it back.

Written down before the bank is asked, and settled from there by whoever learns how it
ended: the request, its retry, or the sweeper.
"""

from collections.abc import Callable
from typing import NamedTuple

from django.db import transaction

from core import clock, context
from merchants import idempotency
from payments import gateways, leases, render, schedule, settlement
from payments.gateways.base import Answer, Outcome
from payments.gateways.decline_codes import PROCESSING_ERROR
from payments.models import Attempt, PaymentIntent
from payments.states import AttemptStatus, Operation, Status
from payments.transition import move

EXPIRED = "expired"
RELEASED = (Answer.APPROVED, Answer.LAPSED)


class Settled(NamedTuple):
    """How an operation left the payment and its attempt."""

    intent: PaymentIntent
    attempt: Attempt


def begin(
    attempt: Attempt,
    operation: Operation,
    *,
    amount: int | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> None:
    """Write down what the bank will be asked for; the caller has locked payment and attempt.

    :param amount: of a capture, in minor units.
    :param reason: of a cancellation.
    :param request_id: empty if no request began it; its events name the job that ends it.
    """
    attempt.operation, attempt.operation_amount = operation, amount
    attempt.operation_request_id = context.request_id() if request_id is None else request_id
    attempt.cancellation_reason = reason
    attempt.lease_until = leases.end()
    schedule.begin_asking(attempt, clock.now())
    attempt.save()


def run(attempt: Attempt) -> tuple[PaymentIntent, Outcome]:
    """Ask the bank for the attempt's operation and settle it; the caller holds the lease."""
    return _run(attempt, _order)


def run_again(attempt: Attempt) -> tuple[PaymentIntent, Outcome]:
    """Run an operation whose first try may have reached the bank, and may yet."""
    return _run(attempt, lambda attempt: _in_doubt(_order(attempt)))


def _run(attempt: Attempt, order: Callable[[Attempt], Outcome]) -> tuple[PaymentIntent, Outcome]:
    context.mark_irrevocable()
    with leases.given_back(attempt):
        outcome = order(attempt)
        settled = settlement.surely(attempt, lambda: settle(attempt, outcome))
        falling = settled.attempt
        if falling.operation == Operation.FALL_BACK and outcome.answer is Answer.DECLINED:
            released = _void(falling)
            settled = settlement.surely(falling, lambda: settle(falling, released))
    return settled.intent, outcome


def ask(attempt: Attempt) -> Outcome:
    """Ask the bank what became of the operation; what must be given back is asked for again."""
    is_ours = attempt.operation in (Operation.FALL_BACK, Operation.REVERSE)
    if is_ours or attempt.cancellation_reason == EXPIRED:
        return _in_doubt(_void(attempt))
    return _inquire(attempt)


def _in_doubt(outcome: Outcome) -> Outcome:
    # What certainly did not leave now says nothing about what left before.
    return Outcome(Answer.UNKNOWN) if outcome.answer is Answer.NOT_SENT else outcome


def _order(attempt: Attempt) -> Outcome:
    if attempt.operation == Operation.CAPTURE:
        gateway = gateways.acquirer()
        return gateway.capture(attempt.acquirer_reference, amount=attempt.operation_amount)
    return _void(attempt)


def _void(attempt: Attempt) -> Outcome:
    outcome = gateways.acquirer().void(attempt.acquirer_reference)
    if outcome.answer is not Answer.DECLINED:
        return outcome
    # Refused perhaps because nothing is held any more.
    known = _inquire(attempt)
    return known if known.answer in RELEASED else outcome


def _inquire(attempt: Attempt) -> Outcome:
    """Read the bank's word on the authorisation as its word on the operation."""
    told = gateways.acquirer().inquire(attempt.acquirer_reference)
    match told.answer:
        case Answer.APPROVED if attempt.operation == Operation.CAPTURE and told.captured:
            return Outcome(Answer.APPROVED, captured=told.captured)
        case Answer.APPROVED:
            return Outcome(Answer.NO_RECORD)  # Nothing was done to it, so far.
        case Answer.VOIDED if attempt.operation != Operation.CAPTURE:
            return Outcome(Answer.APPROVED)
        case Answer.VOIDED | Answer.LAPSED:
            return Outcome(Answer.LAPSED)
    return Outcome(Answer.UNKNOWN)


@transaction.atomic(durable=True)
def settle(attempt: Attempt, outcome: Outcome) -> Settled:
    """Apply the bank's answer to the operation that it was asked about; safe to call twice."""
    asked_about = attempt.operation, attempt.operation_request_id
    intent, attempt = settlement.locked(attempt)
    if (attempt.operation, attempt.operation_request_id) != asked_about or not attempt.operation:
        idempotency.settle()
        return Settled(intent, attempt)  # Somebody else settled it first.
    request_id = attempt.operation_request_id or context.request_id()
    before, asked = render.payment_intent(intent), attempt.operation
    status = _apply(intent, attempt, outcome)
    # A capture that is refused is not over: whoever asked goes on to release it.
    if attempt.operation in (None, asked):
        idempotency.settle()
        attempt.lease_until = None
    if attempt.operation is None:
        idempotency.settle_for(request_id)
    attempt.save()
    if status != intent.status:
        move(intent, status, before, request_id=request_id)
    return Settled(intent, attempt)


def _apply(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    answer = outcome.answer
    if answer is Answer.NO_RECORD:
        schedule.count_no_record(attempt)
        if not schedule.is_known_to_nobody(attempt):
            answer = Answer.UNKNOWN
    if answer in (Answer.UNKNOWN, Answer.PENDING):
        return _still_unknown(intent, attempt)
    match attempt.operation:
        case Operation.CAPTURE:
            return _captured(intent, attempt, outcome)
        case Operation.VOID:
            return _voided(intent, attempt, outcome)
        case Operation.FALL_BACK:
            return _fallen_back(intent, attempt, outcome)
    return _reversed(intent, attempt, outcome)


def _still_unknown(intent: PaymentIntent, attempt: Attempt) -> Status:
    attempt.due_at = schedule.next_inquiry_at(attempt, clock.now())
    # What nobody asked for changes nothing that a merchant sees, before it is done.
    is_ours = attempt.operation == Operation.REVERSE or attempt.cancellation_reason == EXPIRED
    return Status(intent.status) if is_ours else Status.PROCESSING


def _captured(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    amount = outcome.captured or attempt.operation_amount
    if outcome.answer is Answer.DECLINED:
        attempt.operation = Operation.FALL_BACK
        attempt.error = settlement.error_of(attempt, PROCESSING_ERROR, outcome)
        return Status(intent.status)
    attempt.operation = attempt.operation_amount = attempt.operation_request_id = None
    if outcome.answer is Answer.APPROVED:
        return settlement.take_money(intent, attempt, amount)
    if outcome.answer is Answer.LAPSED:
        return _cancel(intent, attempt, EXPIRED)
    return _not_done(attempt)


def _voided(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    attempt.operation = attempt.operation_request_id = None
    if outcome.answer in RELEASED:
        return _cancel(intent, attempt, attempt.cancellation_reason)
    return _not_done(attempt)


def _fallen_back(intent: PaymentIntent, attempt: Attempt, outcome: Outcome) -> Status:
    if outcome.answer in (Answer.NOT_SENT, Answer.NO_RECORD):
        return _still_unknown(intent, attempt)
    attempt.operation = attempt.operation_amount = attempt.operation_request_id = None
    if outcome.answer is Answer.LAPSED:
        # The bank's word that it is over (contract 3): no failure that another card could mend.
        attempt.error = None
        return _cancel(intent, attempt, EXPIRED)
    if outcome.answer is Answer.APPROVED:
        return settlement.fail(intent, attempt, AttemptStatus.FAILED)
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
    """Write a cancellation into a payment that holds no money; in the caller's transaction."""
    settlement.hold_nothing(intent)
    intent.canceled_at, intent.cancellation_reason = clock.now(), reason
    return Status.CANCELED


def _not_done(attempt: Attempt) -> Status:
    now = clock.now()
    attempt.cancellation_reason = attempt.error = None
    attempt.due_at = max(schedule.expires_at(attempt), schedule.next_inquiry_at(attempt, now))
    return Status.REQUIRES_CAPTURE
