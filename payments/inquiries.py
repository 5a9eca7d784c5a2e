"""Asking the bank what became of what nobody knows, and finishing what has become due.

An attempt is unknown because the bank did not say, or because the process that asked
died; it is due because the payer never came back, or because its authorisation is over.
"""

import contextvars
from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from django.db import DatabaseError, transaction

from core import clock, context
from merchants import request_logs
from merchants.models import Merchant
from payments import gateways, leases, operations, render, schedule, settlement
from payments.gateways.base import Answer, Outcome
from payments.gateways.decline_codes import AUTHENTICATION_ABANDONED
from payments.models import Attempt, PaymentIntent
from payments.states import AttemptStatus, Operation, Status
from payments.transition import move

log = structlog.get_logger(__name__)

# Asked together, so that a silent bank costs one time-out and not one for each attempt.
ASKED_AT_ONCE = 8
SWEEP_SECONDS = 20
# What the request logs call it.
JOB = "payments.tasks.settle_unknown"


def ask(attempt: Attempt) -> Outcome:
    """Ask the bank what became of the attempt; no transaction is open."""
    if attempt.operation:
        return operations.ask(attempt)
    is_refused = attempt.authentication.get("result") == "failed"
    if is_refused or (attempt.authentication_demanded and attempt.acs_url is None):
        # It was never sent: without authentication there was nothing to send.
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    return gateways.acquirer().inquire(attempt.acquirer_reference)


def resolve(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply what the bank said to whatever the attempt is waiting for."""
    if attempt.operation:
        return operations.settle(attempt, outcome).intent
    if attempt.status == AttemptStatus.REQUIRES_ACTION and outcome.answer is not Answer.APPROVED:
        return _abandon(attempt, outcome)
    return settlement.settle(attempt, outcome)


def ask_first(merchant: Merchant, intent_id: str) -> None:
    """Learn what became of a `processing` payment, before it is decided on (architecture 2).

    :raises LockTimeout: somebody is asking the bank this moment.
    """
    unknown = (
        Attempt.objects.for_merchant(merchant)
        .filter(intent_id=intent_id, intent__status=Status.PROCESSING, due_at__isnull=False)
        .exclude(operation=Operation.REVERSE)  # Of an attempt that the payment is done with.
        .first()
    )
    if unknown:
        with leases.held(unknown) as attempt:
            if attempt.due_at is not None:
                resolve(attempt, ask(attempt))


def sweep() -> int:
    """Ask about every attempt that is due, settle what is known; return how many.

    Safe beside itself and beside requests. Ends after 20 s; the next run goes on.
    """
    asked = 0
    enough = context.remaining_seconds() - SWEEP_SECONDS
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        while context.remaining_seconds() > enough and (due := _lease_due()):
            ready = [begun for one in due if (begun := _begun(one))]
            running = [pool.submit(contextvars.copy_context().run, ask, one) for one in ready]
            for attempt, asking in zip(ready, running, strict=True):
                _resolve_alone(attempt, asking)
            asked += len(due)
    return asked


def _resolve_alone(attempt: Attempt, asking: Future[Outcome]) -> None:
    """Settle one attempt of many; what goes wrong with it is no other attempt's trouble."""
    try:
        with request_logs.job(JOB):
            resolve(attempt, asking.result())
    except DatabaseError:
        # Somebody holds the payment's lock, or the database is away: the next inquiry settles it.
        log.warning("attempt not settled", attempt=attempt.id, exc_info=True)
        leases.give_back(attempt)
    except Exception:  # A bug of ours, told at once; it must not keep the others from their turn.
        log.exception("attempt not settled", attempt=attempt.id)
        leases.give_back(attempt)


@transaction.atomic(durable=True)
def _lease_due() -> list[Attempt]:
    """Take the leases of some attempts that are due."""
    now = clock.now()
    due = leases.free().filter(due_at__lte=now).select_related("intent").order_by("due_at")
    attempts = list(due.select_for_update(of=("self",), skip_locked=True)[:ASKED_AT_ONCE])
    for attempt in attempts:
        # Written before the bank is asked: an attempt that cannot be settled for a fault of
        # ours comes again by the schedule, and does not keep the others from their turn.
        attempt.inquiry_count += 1
        attempt.due_at = schedule.next_inquiry_at(attempt, now)
        attempt.lease_until = leases.end()
    Attempt.objects.bulk_update(attempts, ["inquiry_count", "due_at", "lease_until"])
    return attempts


def _begun(attempt: Attempt) -> Attempt | None:
    """Return the attempt to ask about, once the release of an expired one is written down.

    :returns: None if a request was faster, or somebody holds the payment's lock.
    """
    if attempt.status != AttemptStatus.AUTHORIZED or attempt.operation:
        return attempt
    try:
        return _expire(attempt)
    except DatabaseError:
        log.warning("attempt not expired", attempt=attempt.id, exc_info=True)
        leases.give_back(attempt)
        return None


@transaction.atomic(durable=True)
def _expire(attempt: Attempt) -> Attempt | None:
    """Begin to release an authorisation that is over; the payment is locked first, as always."""
    intent, attempt = settlement.locked(attempt)
    if attempt.status != AttemptStatus.AUTHORIZED or attempt.operation:
        return None
    operations.begin(attempt, Operation.VOID, reason=operations.EXPIRED, request_id="")
    attempt.intent = intent
    return attempt


@transaction.atomic(durable=True)
def _abandon(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Give up on a payer who never came back; nothing is authorised for them (contract 3)."""
    intent, attempt = settlement.locked(attempt)
    if attempt.status != AttemptStatus.REQUIRES_ACTION:
        return intent  # Back this moment.
    attempt.lease_until = None
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        attempt.save()
        return intent
    before = render.payment_intent(intent)
    attempt.error = settlement.error_of(attempt, AUTHENTICATION_ABANDONED, Outcome(Answer.DECLINED))
    status = settlement.fail(intent, attempt, AttemptStatus.ABANDONED)
    attempt.save()
    move(intent, status, before, request_id=attempt.request_id)
    return intent
