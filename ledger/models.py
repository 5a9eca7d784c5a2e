from django.db import models

from core.fields import CodeField
from core.querysets import MerchantManager


class Account(models.Model):
    """One pot of one merchant in one currency; its balance is the sum of its entries."""

    class Kind(models.TextChoices):
        # The merchant's side.
        PENDING = "pending"
        AVAILABLE = "available"
        RESERVED = "reserved"
        # The other side of every charge: what the acquirer owes us for this merchant.
        ACQUIRER = "acquirer"

    id = CodeField(primary_key=True, max_length=80, editable=False)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=12, choices=Kind)

    objects = MerchantManager()

    class Meta:
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
        ]

    def __str__(self) -> str:
        return self.id


class Movement(models.Model):
    """Money that moved for one reason; its entries sum to zero per currency."""

    class Kind(models.TextChoices):
        CHARGE = "charge"

    id = models.BigAutoField(primary_key=True)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=20, choices=Kind)
    # The cause of the movement: the attempt of a charge.
    cause_id = CodeField(max_length=40)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "cause_id", "merchant"], name="a_cause_moves_money_once_per_kind"
            ),
            # A composite foreign key (merchant, movement) points at this.
            models.UniqueConstraint(fields=["merchant", "id"], name="a_movement_has_one_merchant"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cause_id}"


class Entry(models.Model):
    """One line of a movement; never changed, never deleted."""

    id = models.BigAutoField(primary_key=True)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    movement = models.ForeignKey(
        Movement, models.PROTECT, related_name="entries", db_constraint=False
    )
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="entries", db_index=False, db_constraint=False
    )
    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField()

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(fields=["merchant", "account"], name="entries_of_an_account"),
        ]
        constraints = [
            models.CheckConstraint(condition=~models.Q(amount=0), name="an_entry_moves_something"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.amount:+d}"
