"""A merchant's plans, as tests agree on them."""

from merchants import installment_plans
from merchants.models import InstallmentPlan, Merchant

BONUS, AXESS, PARAF, CARDFINANS = (
    "4603450000000000", "5526080000000006", "5528790000000008", "9792030000000000",
)  # fmt: skip
PROGRAMS = {BONUS: "bonus", AXESS: "axess", PARAF: "paraf", CARDFINANS: "cardfinans"}


def plan(
    count: int, bps: int = 0, *, program: str | None = None, minimum: int = 0
) -> InstallmentPlan:
    return InstallmentPlan(
        program=program, installments=count, surcharge_rate_bps=bps, minimum_amount=minimum
    )


def agree(merchant: Merchant, *plans: InstallmentPlan) -> None:
    """Make these all plans of the merchant."""
    installment_plans.replace(merchant, plans)
