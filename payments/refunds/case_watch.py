"""The job that opens cases of refunds that stay unknown, and closes those that the bank settled."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from cases import cases
from cases.models import Case
from cases.states import Kind
from cases.states import Status as CaseStatus
from core import clock
from payments.refunds.models import Refund
from payments.refunds.states import PendingReason, Status

# Rows that one transaction takes; the next one goes on.
CHUNK = 200
OPEN = Case.objects.filter(kind=Kind.UNKNOWN_OUTCOME, status=CaseStatus.OPEN)
ENDED = Refund.objects.filter(id=OuterRef("operation_id")).exclude(status=Status.PENDING)


def watch() -> None:
    """Open and close cases; beside others it leaves what they hold to the next run."""
    since = clock.now() - timedelta(seconds=settings.CASE_AFTER_SECONDS)
    while _open_silent(since) == CHUNK:
        pass
    while _close_known() == CHUNK:
        pass


@transaction.atomic(durable=True)
def _open_silent(since: datetime) -> int:
    """Open a case for each refund that has left for the bank, and has not ended since.

    A second one of the same attempt has to wait: a person is asked one question at a time.
    """
    silent = Refund.objects.filter(status=Status.PENDING, pending_reason=PendingReason.PROCESSING)
    silent = silent.filter(due_at__isnull=False, sent_at__lte=since)
    silent = silent.filter(~Exists(OPEN.filter(attempt=OuterRef("attempt"))))
    rows = silent.select_related("attempt__intent").order_by("sent_at")
    of = ("self", "attempt", "attempt__intent")
    found = list(rows.select_for_update(of=of, skip_locked=True)[:CHUNK])
    for refund in found:
        cases.open_case(Kind.UNKNOWN_OUTCOME, refund.attempt, operation_id=refund.id)
    return len(found)


@transaction.atomic(durable=True)
def _close_known() -> int:
    known = OPEN.filter(Exists(ENDED), decision=None)
    found = list(known.select_for_update(of=("self",), skip_locked=True)[:CHUNK])
    for case in found:
        cases.settle(case, "The bank said.")
    return len(found)
