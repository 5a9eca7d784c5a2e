"""Counts of payments per day, kept by a job (payments/intents/counted_days.py)."""

from django.db import models

from core.fields import JSONField
from core.querysets import MerchantManager


class CountedMerchant(models.Model):
    """The last day up to which a merchant's payments are counted, in the zone of its days."""

    merchant = models.OneToOneField(
        "merchants.Merchant", models.PROTECT, primary_key=True, related_name="+"
    )
    timezone = models.CharField(max_length=64)
    until = models.DateField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.until}"


class CountedDay(models.Model):
    """The payments that a merchant made on one day; a day without any has no row."""

    pk = models.CompositePrimaryKey("merchant_id", "day")
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    day = models.DateField(help_text="In the zone of the merchant's `CountedMerchant`.")
    # Rows as `day_counts.Cell` has them.
    cells = JSONField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.day}"


class LateChange(models.Model):
    """A quarter of an hour with a payment that changed 10 minutes after it was made, or later.

    Its day is counted again. A trigger writes it in the transaction of the change, or locks the one
    that is there (migration 0002); the job deletes those that it can lock. While the job is away
    there is one for each quarter; changes at the same instant may write a few more.
    """

    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    # The quarter's begin.
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        indexes = [models.Index(fields=["merchant", "created_at"], name="late_changes")]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.created_at}"
