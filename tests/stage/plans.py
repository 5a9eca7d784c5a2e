"""A merchant's plans as tests agree on them, and installments for any card."""

import pytest

from merchants import installment_plans
from merchants.models import InstallmentPlan, Merchant
from payments.charging.installments import ChosenPlan
from payments.intents.models import PaymentIntent

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


def sell_installments(
    patch: pytest.MonkeyPatch, *, count: int = 3, surcharge_bps: int = 500
) -> None:
    """Let every payment from now on be paid in installments, with a surcharge on its amount."""

    def plan_of(intent: PaymentIntent, _card: dict, _count: int) -> ChosenPlan:
        return ChosenPlan(count, surcharge=intent.amount * surcharge_bps // 10_000)

    patch.setattr("payments.charging.installments.plan_of", plan_of)
