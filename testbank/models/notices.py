"""Notices to the acquirer, numbered in the order in which they were committed."""

from django.db import models
from django.db.models import Q

from testbank.models.authorizations import Authorization
from testbank.models.disputes import Dispute
from testbank.models.refunds import Refund
from testbank.states import NoticeKind


class NoticeCounter(models.Model):
    """The last notice's number: its row is locked until the notice is committed, so none is missed.

    A sequence would number what is never committed, and show a later number before an earlier one.
    """

    id = models.SmallIntegerField(primary_key=True)
    last = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="bank_counts_notices_in_one_row"),
        ]

    def __str__(self) -> str:
        return str(self.last)


class Notice(models.Model):
    """One notice about a dispute, a refund or fraud, as sent; amount in minor units."""

    number = models.BigIntegerField(primary_key=True)
    kind = models.CharField(max_length=32, choices=NoticeKind)
    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="notices")
    refund = models.ForeignKey(Refund, models.PROTECT, null=True, related_name="notices")
    dispute = models.ForeignKey(Dispute, models.PROTECT, null=True, related_name="notices")
    amount = models.BigIntegerField()
    reason = models.CharField(max_length=32, blank=True)
    network_reason_code = models.CharField(max_length=16)
    due_by = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(number__gte=1, amount__gte=1),
                name="bank_numbers_notices_from_one",
            ),
            models.CheckConstraint(
                condition=Q(refund=None, dispute__isnull=False)
                | Q(refund__isnull=False, dispute=None)
                | Q(kind=NoticeKind.FRAUD_WARNING, refund=None, dispute=None),
                name="bank_tells_of_a_refund_a_dispute_or_fraud",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.kind}"
