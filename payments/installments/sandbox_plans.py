"""The plans of a merchant in a sandbox (contract-terms: demo plans)."""

from django.conf import settings

from merchants import installment_plans
from merchants.models import InstallmentPlan, Merchant

PROGRAMS = ("bonus", "axess", "paraf", "cardfinans")
# Basis points by count.
SURCHARGES = {2: 0, 3: 275, 6: 549}


def give(merchant: Merchant) -> None:
    """Let a new merchant's payers pay in installments; nothing in a live installation.

    There an operator writes down the terms that the merchant has agreed to.
    """
    if settings.LIVEMODE:
        return
    installment_plans.replace(
        merchant,
        [
            InstallmentPlan(program=program, installments=count, surcharge_rate_bps=bps)
            for program in PROGRAMS
            for count, bps in SURCHARGES.items()
        ],
    )
