"""Reports of fraud: the card network warns of a charge, and no money moves."""

from datetime import datetime

from core import clock
from testbank import behaviours, notices
from testbank.models import Authorization, FraudReport


def expect(authorization: Authorization) -> None:
    """Write down the report that follows a capture with this card, if one does."""
    if behaviours.BY_NAME[authorization.behaviour].is_reported:
        due_at = clock.now() + behaviours.REPORTED_AFTER
        FraudReport.objects.create(authorization=authorization, due_at=due_at)


def report_due(authorization: Authorization, now: datetime) -> None:
    """Report a locked authorisation's fraud that is due, once; also if it was voided meanwhile."""
    if not authorization.captured_amount:
        return
    for report in FraudReport.objects.filter(authorization=authorization, due_at__lte=now):
        report.due_at = None
        report.save(update_fields=["due_at"])
        notices.tell_of_fraud(report)
