from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Concat

from core.fields import CodeField
from core.querysets import MerchantManager


class Account(models.Model):
    """One pot of one merchant in one currency; its balance is the sum of its entries.

    A balance above zero is owed by us, one below zero is owed to us, or gone.
    """

    class Kind(models.TextChoices):
        # The merchant's money.
        PENDING = "pending"  # Charged, and not settled yet.
        AVAILABLE = "available"
        RESERVED = "reserved"  # Held back for open disputes.
        # Money that is on its way out.
        REFUNDS = "refunds"  # To cards.
        PAYOUTS = "payouts"  # To accounts at banks.
        # The other side: what left by payouts less what came by topups; what acquirers owe us for
        # this merchant; what it paid us; what the bank gets for installments; what we gave up.
        TRANSFERS = "transfers"
        ACQUIRER = "acquirer"
        FEES = "fees"
        SURCHARGE = "surcharge"
        LOSSES = "losses"

    id = CodeField(primary_key=True, max_length=80, editable=False)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=12, choices=Kind)

    objects = MerchantManager()

    class Meta:
        permissions = [("write_off", "Can write off what a merchant owes")]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency", "kind"],
                name="one_account_per_merchant_currency_and_kind",
            ),
            # A composite foreign key (merchant, account, currency) points at this.
            models.UniqueConstraint(
                fields=["merchant", "id", "currency"],
                name="an_account_has_one_merchant_and_currency",
            ),
            # Guards and sums read the kind from the id, without this table.
            models.CheckConstraint(
                condition=models.Q(
                    id=Concat(F("merchant_id"), Value("."), F("currency"), Value("."), F("kind"))
                ),
                name="an_accounts_id_is_its_merchant_currency_and_kind",
            ),
        ]

    def __str__(self) -> str:
        return self.id


def account_id(merchant_id: str, currency: str, kind: str) -> str:
    """Return the id of an account: merchant, currency and kind."""
    return f"{merchant_id}.{currency}.{kind}"
