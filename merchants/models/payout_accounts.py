"""The merchant's own accounts at banks: payouts go there and nowhere else."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from core.querysets import MerchantManager
from merchants.models.merchant import Merchant


class PayoutAccount(models.Model):
    """An account that an operator registered: a stolen API key must not choose where money goes.

    Its bank details never change: another account is another reference.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="payout_accounts")
    # The name by which payouts ask for it.
    reference = CodeField(max_length=40)
    holder_name = models.CharField(max_length=200)
    iban = models.CharField(max_length=34)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "reference"], name="a_payout_account_is_registered_once"
            ),
            models.UniqueConstraint(
                fields=["merchant"],
                condition=Q(is_default=True),
                name="one_default_payout_account_per_merchant",
            ),
            models.CheckConstraint(
                condition=Q(reference__regex=r"^[A-Za-z0-9_-]{1,40}$"),
                name="a_payout_accounts_reference_is_letters_and_digits",
            ),
        ]

    def __str__(self) -> str:
        return self.reference
