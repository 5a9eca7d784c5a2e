"""Statements as rows: written once, and never changed (migration 0002)."""

from django.db import models
from django.db.models import F, Q

from core.fields import JSONField, id_field
from core.querysets import MerchantManager


class Statement(models.Model):
    """The balance of a currency at the beginning and the end of a month, and the movements between.

    It begins at the instant where the one before ended. It has the entries up to its boundary: what
    was written later for an instant before its end belongs to the next one. Amounts are in minor
    units, from the merchant's side.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    # The first day of the month.
    month = models.DateField()
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    # The merchant's, as it was when the statement was made.
    timezone = models.CharField(max_length=64)
    # The id of the last entry that it knows of.
    boundary = models.BigIntegerField()
    # `pending` and `available` together. The net of all lines is the difference.
    opening = models.BigIntegerField()
    net = models.BigIntegerField()
    closing = models.BigIntegerField()
    # Of the closing balance; reserved money for disputes comes on top.
    available = models.BigIntegerField()
    pending = models.BigIntegerField()
    reserved = models.BigIntegerField()
    # The bank's: what customers paid for installments, less what went back.
    surcharge = models.BigIntegerField()
    # For each type of balance transaction: type, number, amount, fee, net.
    lines = JSONField()
    # Of the payouts that the merchant asked for, as they stood when the statement was made.
    payouts = JSONField()
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency", "month"],
                name="one_statement_per_merchant_currency_and_month",
            ),
            models.CheckConstraint(
                condition=Q(closing=F("opening") + F("net")),
                name="a_statement_closes_with_its_opening_and_its_net",
            ),
            models.CheckConstraint(
                condition=Q(closing=F("available") + F("pending")),
                name="a_statement_closes_with_what_is_available_and_pending",
            ),
            models.CheckConstraint(
                condition=Q(begins_at__lt=F("ends_at")), name="a_statement_ends_after_it_begins"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.currency} {self.month:%Y-%m}"
