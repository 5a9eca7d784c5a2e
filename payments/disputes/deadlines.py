"""Due dates that have passed: the dispute is lost, or the inquiry closed (contract-money)."""

import structlog
from django.db import DatabaseError, transaction

from api import request_logs
from core import clock
from core.errors import ResourceMissing
from payments.disputes import decisions, locks
from payments.disputes.models import Dispute
from payments.disputes.states import ENDED_BY_DUE_DATE
from payments.intents.models import PaymentIntent

# Disputes that one run closes at most; the next one goes on.
CLOSED_AT_ONCE = 500

log = structlog.get_logger(__name__)


def close_overdue(*, job: str) -> int:
    """Close every dispute whose due date has passed, and return how many were looked at.

    Each in a transaction of its own: one that cannot be closed stops no other.

    :param job: the name of this work in the request logs.
    """
    overdue = _overdue()
    for dispute_id in overdue:
        try:
            with request_logs.job(job):
                _run_out(dispute_id)
        except DatabaseError:
            # Its payment is locked, or the database is away: the next run finds it again.
            log.warning("dispute_not_closed", dispute=dispute_id, exc_info=True)
        except Exception:  # A bug of ours: the others are closed all the same.
            log.exception("dispute_not_closed", dispute=dispute_id)
    return len(overdue)


def _overdue() -> list[str]:
    waiting = Dispute.objects.filter(status__in=ENDED_BY_DUE_DATE)
    rows = waiting.filter(evidence_due_by__lte=clock.now()).order_by("evidence_due_by")
    return list(rows.values_list("id", flat=True)[:CLOSED_AT_ONCE])


@transaction.atomic(durable=True)
def _run_out(dispute_id: str) -> None:
    try:
        dispute = locks.by_id(dispute_id, PaymentIntent.objects.all())
    except ResourceMissing:
        return
    # Submitted, decided or escalated since it was found: then it has another date, or none.
    if dispute.status in ENDED_BY_DUE_DATE and dispute.evidence_due_by <= clock.now():
        decisions.run_out(dispute)
