"""Resolve payments whose outcome is unknown, and act on attempts whose deadline has passed.

An outcome is unknown because the bank did not answer, or because the process that asked it died.
A deadline passes when the payer does not come back, or when an authorisation expires.
"""

import contextvars
from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from django.db import DatabaseError, transaction

import acquirers
from acquirers import exchanges, standings
from acquirers.declines import AUTHENTICATION_ABANDONED
from acquirers.gateway import Answer, Outcome
from core import clock, context
from merchants import request_logs
from merchants.models import Merchant
from payments.intents import authorization, leases, modifications, render, schedule
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.orders import order_of
from payments.intents.states import AttemptStatus, ModificationKind, Status
from payments.intents.transition import move

log = structlog.get_logger(__name__)

# Asked together, so that a silent bank costs one time-out and not one for each attempt.
ASKED_AT_ONCE = 8
SWEEP_SECONDS = 20
# The sweeper's name in the request logs.
JOB = "payments.intents.tasks.resolve_unknown"


def ask(attempt: Attempt) -> Outcome:
    """Inquire at the bank how the attempt, or the operation on it, ended; no transaction is open.

    The caller holds the attempt's lease.
    """
    if attempt.operation:
        return modifications.ask(attempt)
    is_refused = attempt.authentication.get("result") == "failed"
    if is_refused or (attempt.authentication_demanded and attempt.acs_url is None):
        # No authorisation was ever sent: the authentication failed or did not begin.
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    return standings.authorization(acquirers.of(attempt).inquire(order_of(attempt)))


def resolve(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer to the operation, the payer or the authorisation that is awaited."""
    if attempt.operation:
        return modifications.apply(attempt, outcome).intent
    if attempt.status == AttemptStatus.REQUIRES_ACTION and outcome.answer is not Answer.APPROVED:
        return _abandon(attempt, outcome)
    return authorization.apply(attempt, outcome)


def ask_first(merchant: Merchant, intent_id: str) -> None:
    """Resolve a `processing` payment before a capture or a cancellation of it (architecture 2).

    Does nothing for a payment in any other status.

    :raises LockTimeout: another process is asking the bank this moment.
    """
    unknown = (
        Attempt.objects.for_merchant(merchant)
        .filter(intent_id=intent_id, intent__status=Status.PROCESSING, due_at__isnull=False)
        .exclude(operation=ModificationKind.REVERSE)  # Its attempt is closed; the payment goes on.
        .first()
    )
    if unknown:
        with leases.held(unknown) as attempt:
            resolve(attempt, ask(attempt))


def sweep() -> int:
    """Ask the bank about every attempt that is due, and apply its answers; return how many.

    Sweepers and requests may run at the same time: leases keep them apart. Ends after 20 s; the
    next run goes on.
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
    """Resolve one attempt of a batch; an error is logged and does not stop the others."""
    try:
        with request_logs.job(JOB):
            resolve(attempt, asking.result())
    except DatabaseError:
        # The payment is locked, or the database is away: the next inquiry resolves it.
        log.warning("attempt_not_resolved", attempt=attempt.id, exc_info=True)
        leases.give_back(attempt)
    except Exception:  # A bug of ours: logged as an error; the others still get their turn.
        log.exception("attempt_not_resolved", attempt=attempt.id)
        leases.give_back(attempt)


@transaction.atomic(durable=True)
def _lease_due() -> list[Attempt]:
    """Take the leases of up to eight due attempts, the longest due first."""
    now = clock.now()
    due = (
        leases.free()
        .filter(due_at__lte=now)
        .select_related("intent", "terminal")
        .order_by("due_at")
    )
    attempts = list(due.select_for_update(of=("self",), skip_locked=True)[:ASKED_AT_ONCE])
    for attempt in attempts:
        # Written before the bank is asked: an attempt that a bug of ours keeps open comes back
        # by the schedule, and does not take the others' turn.
        attempt.inquiry_count += 1
        attempt.due_at = schedule.next_inquiry_at(attempt, now)
        attempt.lease_until = leases.end()
    Attempt.objects.bulk_update(attempts, ["inquiry_count", "due_at", "lease_until"])
    return attempts


def _begun(attempt: Attempt) -> Attempt | None:
    """Return the attempt to ask about, once the release of an expired one is written down.

    :returns: None if a request was faster, or the payment is locked.
    """
    if attempt.status != AttemptStatus.AUTHORIZED or attempt.operation:
        return attempt
    try:
        return _expire(attempt)
    except DatabaseError:
        log.warning("attempt_not_expired", attempt=attempt.id, exc_info=True)
        leases.give_back(attempt)
        return None


@transaction.atomic(durable=True)
def _expire(attempt: Attempt) -> Attempt | None:
    """Begin to release an authorisation older than 7 days; locks the payment before the attempt."""
    intent, attempt = authorization.locked(attempt)
    if attempt.status != AttemptStatus.AUTHORIZED or attempt.operation:
        return None
    modifications.begin(attempt, ModificationKind.VOID, reason=modifications.EXPIRED, request_id="")
    attempt.intent = intent
    return attempt


@transaction.atomic(durable=True)
def _abandon(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Close the attempt of a payer who did not come back within an hour (contract 3).

    If the bank does not answer, the attempt stays open and is asked about again.
    """
    intent, attempt = authorization.locked(attempt)
    exchanges.record_inquiry(attempt, outcome)
    if attempt.status != AttemptStatus.REQUIRES_ACTION:
        return intent  # The payer has come back meanwhile.
    attempt.lease_until = None
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        attempt.save()
        return intent
    before = render.payment_intent(intent)
    attempt.error = authorization.error_of(
        attempt, AUTHENTICATION_ABANDONED, Outcome(Answer.DECLINED)
    )
    status = authorization.fail(intent, attempt, AttemptStatus.ABANDONED)
    attempt.save()
    move(intent, status, before, request_id=attempt.request_id)
    return intent
