"""The job that opens cases of what stays unknown, and closes those that the bank has settled.

An open case is a question to a person, and asks the bank nothing: the sweeper goes on with that.
"""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from cases import cases
from cases.models import Case
from cases.states import Kind
from cases.states import Status as CaseStatus
from core import clock
from payments.intents.models import Attempt, Modification
from payments.intents.states import (
    IN_FLIGHT,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
)

# Rows that one transaction takes; the next run goes on.
CHUNK = 200
UNDER_WAY = Modification.objects.filter(
    attempt=OuterRef("attempt"), status=ModificationStatus.PROCESSING
)
# The capture or release that a case is about, once it has ended.
ENDED = Modification.objects.filter(id=OuterRef("operation_id")).exclude(
    status=ModificationStatus.PROCESSING
)
REVERSED_CASES = (Kind.LATE_SUCCESS_REVERSED, Kind.REVERSAL_STUCK)


def watch() -> None:
    """Open and close cases; beside others it leaves what they hold to the next run."""
    since = clock.now() - timedelta(seconds=settings.CASE_AFTER_SECONDS)
    for take_some in (
        partial(_open_silent, since),
        partial(_open_in_flight, since),
        partial(_open_stuck, since),
        _close_known,
        _close_reversed,
    ):
        while take_some() == CHUNK:
            pass


@transaction.atomic(durable=True)
def _open_silent(since: datetime) -> int:
    """Open a case for each authorisation that the bank has not answered since."""
    silent = Attempt.objects.filter(status=AttemptStatus.PROCESSING, asked_at__lte=since)
    silent = silent.filter(~Exists(_open(Kind.UNKNOWN_OUTCOME, OuterRef("pk"))))
    # With their payments, which the new rows refer to: nobody is waited for.
    rows = silent.select_related("intent").order_by("asked_at")
    found = list(rows.select_for_update(of=("self", "intent"), skip_locked=True)[:CHUNK])
    for attempt in found:
        cases.open_case(Kind.UNKNOWN_OUTCOME, attempt)
    return len(found)


def _open_in_flight(since: datetime) -> int:
    """Open a case for each capture or release that the bank has not answered since."""
    return _open_modified(since, IN_FLIGHT, Kind.UNKNOWN_OUTCOME)


def _open_stuck(since: datetime) -> int:
    """Open a case for each late charge that the bank has not given back since."""
    return _open_modified(since, (ModificationKind.REVERSE,), Kind.REVERSAL_STUCK)


@transaction.atomic(durable=True)
def _open_modified(since: datetime, kinds: tuple[ModificationKind, ...], case_kind: Kind) -> int:
    rows = Modification.objects.filter(status=ModificationStatus.PROCESSING, kind__in=kinds)
    rows = rows.filter(~Exists(_open(case_kind, OuterRef("attempt"))), created_at__lte=since)
    rows = rows.select_related("attempt__intent").order_by("created_at")
    of = ("self", "attempt", "attempt__intent")
    found = list(rows.select_for_update(of=of, skip_locked=True)[:CHUNK])
    for row in found:
        cases.open_case(case_kind, row.attempt, operation_id=row.id)
    return len(found)


@transaction.atomic(durable=True)
def _close_known() -> int:
    """Close the cases about what is known by now; one that a person has decided is not asked."""
    asked = _open_cases(Kind.UNKNOWN_OUTCOME).filter(decision=None)
    known = asked.filter(operation_id=None).exclude(attempt__status=AttemptStatus.PROCESSING)
    modified = asked.filter(Exists(ENDED))
    return _settle(known | modified, "The bank said.")


@transaction.atomic(durable=True)
def _close_reversed() -> int:
    done = _open_cases(*REVERSED_CASES)
    done = done.filter(~Exists(UNDER_WAY.filter(kind=ModificationKind.REVERSE)))
    return _settle(done, "The bank has given the money back.")


def _settle(over: QuerySet[Case], told: str) -> int:
    found = list(over.select_for_update(of=("self",), skip_locked=True)[:CHUNK])
    for case in found:
        cases.settle(case, told)
    return len(found)


def _open_cases(*kinds: Kind) -> QuerySet[Case]:
    rows: QuerySet[Case] = Case.objects.filter(status=CaseStatus.OPEN, kind__in=kinds)
    return rows


def _open(kind: Kind, attempt: OuterRef) -> QuerySet[Case]:
    rows: QuerySet[Case] = Case.objects.filter(attempt=attempt, kind=kind, status=CaseStatus.OPEN)
    return rows
