"""The agenda of settlement: kept by a job (ledger/agenda.py)."""

from django.db import models
from django.db.models import Q

from core.querysets import MerchantManager


class Due(models.Model):
    """The next date on which a run settles something of a merchant in a currency.

    A run over many merchants holds this row while it settles one of them.
    """

    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    # The merchant's local date; null while nothing is pending.
    due_on = models.DateField(null=True)
    # The date of the last run: there is one a day, and late parts are due after it.
    settled_on = models.DateField(null=True)

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(
                fields=["due_on"], name="what_is_due_by_date", condition=Q(due_on__isnull=False)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency"], name="a_currency_is_due_once_per_merchant"
            ),
            models.CheckConstraint(
                condition=Q(due_on__gt=models.F("settled_on")),
                name="nothing_is_due_on_a_settled_date",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.currency} {self.due_on}"


class Agenda(models.Model):
    """One row: the last entry of the journal whose date is on the agenda."""

    ONLY = 1

    id = models.SmallIntegerField(primary_key=True, default=ONLY)
    reached = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="settlement_has_one_agenda"),
        ]

    def __str__(self) -> str:
        return f"up to {self.reached}"
