"""Checkpoints of accounts, and how far they go: kept by a job (ledger/checkpoints.py)."""

from django.db import models
from django.db.models import F, Q

from core.querysets import MerchantManager
from ledger.models.accounts import Account


class Checkpoint(models.Model):
    """The sum of an account's entries up to one of them; its balance is this and those behind it.

    An account without one has none of its entries in a sum so far.
    """

    account = models.OneToOneField(
        Account, models.PROTECT, primary_key=True, related_name="checkpoint", db_constraint=False
    )
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    currency = models.CharField(max_length=3)
    # In minor units.
    sum = models.BigIntegerField()
    # The id of the last entry in the sum.
    boundary = models.BigIntegerField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.account_id} {self.sum:+d}"


class Boundary(models.Model):
    """One row: how far the checkpoints go, and how far they will go next.

    No column says which transaction wrote the row: PostgreSQL knows it (`xmin`).
    """

    ONLY = 1

    id = models.SmallIntegerField(primary_key=True, default=ONLY)
    # Every entry up to this id is in a checkpoint.
    reached = models.BigIntegerField(default=0)
    # The newest id when the row was written. Once every transaction of that time has ended, the
    # entries up to it are all there.
    next = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="checkpoints_have_one_boundary"),
            models.CheckConstraint(
                condition=Q(reached__lte=F("next")), name="checkpoints_end_at_their_boundary"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reached} of {self.next}"
