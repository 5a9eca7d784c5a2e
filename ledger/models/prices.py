from django.db import models
from django.db.models import Q

from core.querysets import MerchantManager


class Price(models.Model):
    """The fee of a merchant's charges in one currency (contract-money: fees).

    A row may be for one type of card, for one count of installments, or for both: the most
    specific row counts. No row: charges are free.
    """

    class CardType(models.TextChoices):
        CREDIT = "credit"
        DEBIT = "debit"
        PREPAID = "prepaid"

    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    card_type = models.CharField(max_length=7, choices=CardType, null=True, blank=True)
    installments = models.SmallIntegerField(null=True, blank=True)
    # Hundredths of a per cent of the money received, and minor units per charge.
    bps = models.IntegerField()
    fixed = models.BigIntegerField(default=0)
    # Refunds bring back their share of the fee. It counts as it was at the charge.
    returns_fee = models.BooleanField(default=False)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency", "card_type", "installments"],
                nulls_distinct=False,
                name="one_price_per_currency_card_type_and_installments",
            ),
            models.CheckConstraint(
                condition=Q(bps__range=(0, 10_000), fixed__gte=0), name="a_price_is_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(installments__isnull=True) | Q(installments__gte=1),
                name="a_price_is_for_one_installment_or_more",
            ),
            models.CheckConstraint(
                condition=Q(currency__regex="^[a-z]{3}$"), name="a_price_has_a_small_currency"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bps} bps + {self.fixed} {self.currency}"
