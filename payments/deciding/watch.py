"""The job that opens cases of what stays unknown, and closes those that the bank has settled.

An open case is a question to a person, and asks the bank nothing: the sweeper goes on with that.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from acquirers.conversation import kinds
from acquirers.conversation.kinds import Kind
from cases import cases
from cases.models import Case
from cases.states import CaseKind, CaseStatus
from core import clock
from payments.intents.models import Attempt, Modification
from payments.intents.states import ModificationKind, ModificationStatus

# Rows that one transaction takes; the next run goes on.
CHUNK = 200
OPEN = Case.objects.filter(status=CaseStatus.OPEN)
REVERSING = Modification.objects.filter(
    attempt=OuterRef("attempt"),
    kind=ModificationKind.REVERSE,
    status=ModificationStatus.PROCESSING,
)
REVERSED_CASES = (CaseKind.LATE_SUCCESS_REVERSED, CaseKind.REVERSAL_STUCK)


def watch() -> None:
    """Open and close cases; rows that another run holds are left to the next run."""
    since = clock.now() - timedelta(seconds=settings.CASE_AFTER_SECONDS)
    decidable = [kind for kind in kinds.KINDS.values() if kind.id_prefix]
    steps: list[Callable[[], int]] = [
        partial(_open, CaseKind(case_kind), unanswered)
        for kind in decidable
        for case_kind, unanswered in kind.unanswered(since).items()
    ]
    steps += [partial(_close_known, kind) for kind in decidable]
    for take_some in (*steps, _close_reversed):
        while take_some() == CHUNK:
            pass


@transaction.atomic(durable=True)
def _open(case_kind: CaseKind, unanswered: QuerySet[Any]) -> int:
    """Open a case for each row that the bank has not answered for long.

    A second one of the same attempt has to wait: a person is asked one question at a time.
    """
    is_attempt = unanswered.model is Attempt
    attempt = OuterRef("pk" if is_attempt else "attempt")
    rows = unanswered.filter(~Exists(OPEN.filter(attempt=attempt, kind=case_kind)))
    # With their payments and attempts, which the new rows refer to: nobody is waited for.
    found = list(rows.select_for_update(skip_locked=True)[:CHUNK])
    for row in found:
        if is_attempt:
            cases.open_case(case_kind, row)
        else:
            cases.open_case(case_kind, row.attempt, operation_id=row.id)
    return len(found)


@transaction.atomic(durable=True)
def _close_known(kind: Kind[Any]) -> int:
    """Close the cases about rows that have ended; one that a person has decided is not asked."""
    is_attempt = kind.model is Attempt
    row_id = "attempt" if is_attempt else "operation_id"
    ended = kind.model._default_manager.filter(pk=OuterRef(row_id), closed_at__isnull=False)
    asked = OPEN.filter(kind=CaseKind.UNKNOWN_OUTCOME, decision=None)
    about_it = Q(operation_id=None) if is_attempt else Q()
    return _settle(asked.filter(about_it, Exists(ended)), "The bank said.")


@transaction.atomic(durable=True)
def _close_reversed() -> int:
    done = OPEN.filter(~Exists(REVERSING), kind__in=REVERSED_CASES)
    return _settle(done, "The bank has given the money back.")


def _settle(over: QuerySet[Case], told: str) -> int:
    found = list(over.select_for_update(of=("self",), skip_locked=True)[:CHUNK])
    for case in found:
        cases.settle(case, told)
    return len(found)
