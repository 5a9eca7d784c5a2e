"""Sums per day, kept by the job of the checkpoints (ledger/checkpoints.py)."""

from django.db import models

from core.querysets import MerchantManager


class DaySum(models.Model):
    """The movements of one type that a merchant had in a currency on one day, in UTC.

    It has the entries that are in checkpoints. Amounts are in minor units, from the merchant's side
    as in `Movement`; those of `available`, `pending` and `reserved` are changes of these accounts.
    """

    pk = models.CompositePrimaryKey("merchant_id", "currency", "day", "type")
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    day = models.DateField()
    # Empty for movements that are no balance transactions.
    type = models.CharField(max_length=20)
    # Of balance transactions.
    count = models.BigIntegerField()
    fee = models.BigIntegerField()
    # The bank's money: what customers paid for installments, less what went back.
    surcharge = models.BigIntegerField()
    available = models.BigIntegerField()
    pending = models.BigIntegerField()
    reserved = models.BigIntegerField()
    # The id of the last entry in the sums.
    boundary = models.BigIntegerField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.currency} {self.day} {self.type}"
