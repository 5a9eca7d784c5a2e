"""Differences between a bank's file and our books, and the lines that wait for a later reading."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from acquirers.models import Terminal
from core.fields import CodeField, JSONField, id_field
from merchants.models import Merchant


class Difference(models.Model):
    """A case of reconciliation: one booking that the bank and we have otherwise.

    A later file that agrees closes it, or an operator with a reason. Each side is null if it has no
    such booking; else it has date, merchant, currency and amount, and ours the object's id.
    """

    class Kind(models.TextChoices):
        MISSING_HERE = "missing_here", "The bank has it, and we do not"
        MISSING_THERE = "missing_there", "We have it, and the bank does not"
        AMOUNT = "amount_differs", "The amount differs"
        CURRENCY = "currency_differs", "The currency differs"
        MERCHANT = "merchant_differs", "The merchant differs"
        TWICE = "twice", "Twice in the bank's file"

    id = id_field()
    kind = models.CharField(max_length=20, choices=Kind)
    # A type of `lines.TYPES`, and with it the reference by which both books name the booking.
    type = models.CharField(max_length=20)
    reference = CodeField(max_length=64)
    # The day whose file has, or lacks, the line.
    day = models.DateField()
    # Null if the bank's number of the merchant stands for several.
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, null=True, related_name="+", db_index=False
    )
    # Null if it is not known: the bank's file was the installation's, and only the bank has it.
    terminal = models.ForeignKey(
        Terminal, models.PROTECT, null=True, related_name="+", db_index=False
    )
    bank = JSONField(null=True)
    ours = JSONField(null=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    # Null if a file closed it.
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False
    )
    reason = models.TextField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["type", "reference", "kind"], name="differences_by_reference"),
            models.Index(fields=["opened_at", "id"], name="differences_by_age"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["type", "reference", "kind", "terminal"],
                nulls_distinct=False,
                condition=Q(closed_at__isnull=True),
                name="one_open_difference_per_booking_and_kind",
            ),
            models.CheckConstraint(
                condition=Q(bank__isnull=False) | Q(ours__isnull=False),
                name="a_difference_has_a_side",
            ),
            models.CheckConstraint(
                condition=Q(closed_by__isnull=True, reason__isnull=True)
                | Q(closed_by__isnull=False, reason__isnull=False, closed_at__isnull=False),
                name="a_person_closes_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.type} {self.reference}"

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


class KeptLine(models.Model):
    """A line of an earlier file that every reading compares again.

    It waits for what is in doubt with us, or differs, or we have it on another day: a line that
    plainly agrees is not kept.
    """

    type = models.CharField(max_length=20)
    # As the bank's file has it.
    reference = CodeField(max_length=64)
    # The terminal whose file had it; null if the file was the installation's.
    terminal_id = CodeField(max_length=40, null=True)
    # The bank's booking day.
    day = models.DateField()
    merchant_id = CodeField(max_length=64, null=True)
    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField()
    value_date = models.DateField(null=True)

    class Meta:
        indexes = [models.Index(fields=["day"], name="kept_lines_by_day")]
        constraints = [
            models.UniqueConstraint(
                fields=["type", "reference", "terminal_id"],
                nulls_distinct=False,
                name="a_line_of_a_booking_is_kept_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.reference}"
