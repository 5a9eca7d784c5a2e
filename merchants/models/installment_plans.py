"""The installments that a merchant offers."""

from django.db import models
from django.db.models import Q

from core.querysets import MerchantManager
from merchants.models.merchant import Merchant


class InstallmentPlan(models.Model):
    """One count of installments, for one programme of cards, and its price (contract-terms).

    Without a programme it is for all domestic credit cards whose programme has no row of its own.
    """

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="installment_plans", db_index=False
    )
    program = models.CharField(max_length=40, null=True, blank=True)
    installments = models.SmallIntegerField()
    surcharge_rate_bps = models.IntegerField(default=0)
    # Of the payment, before the surcharge, in minor units.
    minimum_amount = models.BigIntegerField(default=0)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "program", "installments"],
                nulls_distinct=False,
                name="one_plan_per_program_and_installments",
            ),
            models.CheckConstraint(
                condition=Q(installments__gte=2, installments__lte=12),
                name="a_plan_has_2_to_12_installments",
            ),
            models.CheckConstraint(
                condition=Q(surcharge_rate_bps__gte=0, surcharge_rate_bps__lte=5000),
                name="a_plan_costs_0_to_5000_bps",
            ),
            models.CheckConstraint(
                condition=Q(minimum_amount__gte=0), name="a_plans_minimum_is_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(program=None) | Q(program__regex="^[a-z0-9_]{1,40}$"),
                name="a_program_is_small_letters_digits_and_underscores",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.program or 'any programme'} × {self.installments}"
