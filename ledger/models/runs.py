from django.db import models

from core.fields import id_field
from core.querysets import MerchantManager


class Run(models.Model):
    """One settlement: parts of a merchant's charges became available (contract-money, To 6).

    A pending entry is settled if a run has reached both its date and its id.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    # The merchant's local date; every part with this date or an earlier one is settled.
    date = models.DateField()
    # The id of the last entry that the run knew; one that was committed later lies behind it.
    boundary = models.BigIntegerField()
    # The sum that became available, in minor units; 0 of charges that were voided.
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency", "date"],
                name="one_run_per_merchant_currency_and_date",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.currency} {self.date}"
