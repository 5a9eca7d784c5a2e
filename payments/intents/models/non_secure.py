from django.db import models
from django.db.models import F, Q

from core.querysets import MerchantManager


class NonSecureDay(models.Model):
    """The money that a limit per day has counted, of the last day on which it counted any.

    `taken` is of all attempts that name the day in `non_secure_day` and have not ended unpaid, and
    of `uncounted`: what the day had taken before its first attempt was counted here. The row stays
    when the merchant's limit is changed or taken away. Amounts are in minor units.
    """

    pk = models.CompositePrimaryKey("merchant_id", "currency")
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    day = models.DateField(help_text="In the merchant's time zone.")
    taken = models.BigIntegerField()
    uncounted = models.BigIntegerField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uncounted__gte=0, taken__gte=F("uncounted")),
                name="a_day_gives_back_what_it_counted_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.currency} {self.day}"
