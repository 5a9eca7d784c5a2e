"""Notices to the acquirer, each in the transaction of its news, numbered without gaps."""

from typing import Any

from django.db import connections

from core import clock
from testbank.models import Dispute, FraudReport, Notice, Refund
from testbank.router import BANK
from testbank.states import NoticeKind

PAGE = 100
# The row stays locked until the transaction ends, so that numbers come in the order of commits.
NEXT_NUMBER = """
    INSERT INTO testbank_noticecounter (id, last) VALUES (1, 1)
    ON CONFLICT (id) DO UPDATE SET last = testbank_noticecounter.last + 1
    RETURNING last
"""
# Until then the acquirer may answer.
WITH_DEADLINE = (
    NoticeKind.DISPUTE_OPENED,
    NoticeKind.INQUIRY_OPENED,
    NoticeKind.DISPUTE_ESCALATED,
)


def tell_of_dispute(kind: NoticeKind, dispute: Dispute) -> None:
    """Write down what has become of a dispute."""
    _tell(
        kind,
        authorization=dispute.authorization,
        dispute=dispute,
        amount=dispute.amount,
        reason=dispute.reason,
        network_reason_code=dispute.network_reason_code,
        due_by=dispute.evidence_due_by if kind in WITH_DEADLINE else None,
    )


def tell_of_bounce(refund: Refund) -> None:
    """Write down that a refund came back; the code says why the card could not be credited."""
    _tell(
        NoticeKind.REFUND_BOUNCED,
        authorization=refund.authorization,
        refund=refund,
        amount=refund.amount,
        network_reason_code=refund.response_code,
    )


def tell_of_fraud(report: FraudReport) -> None:
    """Write down that a charge was reported as fraud; no money moves by that."""
    _tell(
        NoticeKind.FRAUD_WARNING,
        authorization=report.authorization,
        amount=report.authorization.captured_amount,
        reason="fraudulent",
        network_reason_code="",
    )


def behind(number: int) -> list[Notice]:
    """Return the next notices behind a number, in their order."""
    related = ("authorization", "refund", "dispute")
    rows = Notice.objects.filter(number__gt=number).select_related(*related)
    return list(rows.order_by("number")[:PAGE])


def _tell(kind: NoticeKind, **facts: Any) -> None:
    with connections[BANK].cursor() as cursor:
        cursor.execute(NEXT_NUMBER)
        [number] = cursor.fetchone()
    Notice.objects.create(number=number, kind=kind, created_at=clock.now(), **facts)
