"""Notices about transfers, as they came; a table of their own, for their bank numbers them."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField


class TransferNotice(models.Model):
    """A notice of the bank about a transfer; it is applied at most once.

    Nothing but the columns of its application changes (migration 0002).
    """

    # The adapter's dotted path: another bank numbers its notices from 1 again.
    rail = CodeField(max_length=200)
    number = models.BigIntegerField()
    # A word of `acquirers.rails`, or another that no handler knows yet.
    kind = models.CharField(max_length=40)
    # Ours of a transfer out, the bank's own of one in. Notices about one are applied in order of
    # their numbers.
    reference = CodeField(max_length=40)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    failure_code = models.CharField(max_length=40, null=True)
    trace_id = models.CharField(max_length=40, null=True)
    # The text that the sender of a transfer in wrote, without what a card number would be.
    remittance = models.CharField(max_length=140, blank=True)
    at = models.DateTimeField()  # By the bank's clock.
    stored_at = models.DateTimeField()

    applied_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    tries = models.IntegerField(default=0)
    # The class of the last error alone: its text may hold anything.
    last_error = models.CharField(max_length=100, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rail", "number"], name="a_rails_notices_are_numbered"),
            models.CheckConstraint(
                condition=Q(applied_at__isnull=True, next_try_at__isnull=False)
                | Q(applied_at__isnull=False, next_try_at__isnull=True),
                name="a_transfer_notice_is_applied_or_tried_again",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(applied_at__isnull=True),
                name="transfer_notices_to_be_tried",
            ),
            models.Index(
                fields=["reference", "number"],
                name="notices_of_a_transfer",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.number} of {self.reference}"
