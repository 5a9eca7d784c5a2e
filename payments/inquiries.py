"""Asking the bank what became of an attempt whose outcome is unknown (contract 3).

An attempt is unknown because the bank did not say, or because the process that asked
died. Whoever asks holds the attempt's lease: the request that opened it, a retry with
its idempotency key, or the sweeper.
"""

import contextvars
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone

from core import clock, context
from core.querysets import MerchantRows
from merchants import request_logs
from payments import gateways, settlement
from payments.gateways.base import Answer, Outcome
from payments.models import Attempt
from payments.states import OPEN_ATTEMPT, AttemptStatus

log = structlog.get_logger(__name__)

# Asked together, so that a silent bank costs one time-out and not one for each attempt.
ASKED_AT_ONCE = 8
SWEEP_SECONDS = 20
# What the request logs call it.
JOB = "payments.tasks.settle_unknown"


def lease_end() -> datetime:
    """Return until when one who asks the bank now keeps others from doing so, in real time."""
    return timezone.now() + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


@contextmanager
def lease_given_back(attempt: Attempt) -> Iterator[None]:
    """Give the attempt's lease back if the block fails, so that nobody waits for its end."""
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            _give_back(attempt)


def take_lease(attempt: Attempt) -> bool:
    """Take an open attempt's lease; False if somebody is asking the bank already."""
    return bool(_free().filter(id=attempt.id).update(lease_until=lease_end()))


def ask(attempt: Attempt) -> Outcome:
    """Ask the bank what became of the attempt; no transaction is open."""
    if attempt.authentication_demanded:
        # It was never sent: without authentication there was nothing to send.
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    return gateways.acquirer().inquire(attempt.acquirer_reference)


def sweep() -> int:
    """Ask about every attempt whose inquiry is due, settle what is known; return how many.

    Safe beside itself and beside requests. Ends after 20 s; the next run goes on.
    """
    asked = 0
    enough = context.remaining_seconds() - SWEEP_SECONDS
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        while context.remaining_seconds() > enough and (due := _lease_due()):
            running = [pool.submit(contextvars.copy_context().run, ask, one) for one in due]
            for attempt, asking in zip(due, running, strict=True):
                _settle(attempt, asking.result())
            asked += len(due)
    return asked


def _settle(attempt: Attempt, outcome: Outcome) -> None:
    shown = attempt.intent.status
    try:
        with request_logs.job(JOB) as run:
            intent = settlement.settle(attempt, outcome)
            if intent.status != shown:
                run.about(intent.merchant_id, intent.id)
    except DatabaseError:
        # Somebody holds the payment's lock, or the database is away: the next inquiry settles it.
        log.warning("attempt not settled", attempt=attempt.id, exc_info=True)
        _give_back(attempt)


@transaction.atomic(durable=True)
def _lease_due() -> list[Attempt]:
    """Take the leases of some attempts whose inquiry is due."""
    now = clock.now()
    due = _free().filter(status=AttemptStatus.PROCESSING, next_inquiry_at__lte=now)
    due = due.select_related("intent").order_by("next_inquiry_at")
    attempts = list(due.select_for_update(of=("self",), skip_locked=True)[:ASKED_AT_ONCE])
    for attempt in attempts:
        # Written before the bank is asked: an attempt that cannot be settled for a fault of
        # ours comes again by the schedule, and does not keep the others from their turn.
        attempt.inquiry_count += 1
        attempt.next_inquiry_at = settlement.next_inquiry_at(attempt, now)
        attempt.lease_until = lease_end()
    Attempt.objects.bulk_update(attempts, ["inquiry_count", "next_inquiry_at", "lease_until"])
    return attempts


def _free() -> MerchantRows:
    is_free = Q(lease_until__isnull=True) | Q(lease_until__lt=timezone.now())
    return Attempt.objects.filter(is_free, status__in=OPEN_ATTEMPT)


def _give_back(attempt: Attempt) -> None:
    try:
        Attempt.objects.filter(id=attempt.id).update(lease_until=None)
    except DatabaseError:
        log.warning("lease not given back", attempt=attempt.id, exc_info=True)
