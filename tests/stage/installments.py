"""Installments for any card: tests put them where the service says what is for sale."""

import pytest

from payments.charging.installments import Plan
from payments.intents.models import PaymentIntent


def sell_installments(
    patch: pytest.MonkeyPatch, *, count: int = 3, surcharge_bps: int = 500
) -> None:
    """Let every payment from now on be paid in installments, with a surcharge on its amount."""

    def plan_of(intent: PaymentIntent, _card: dict, _count: int) -> Plan:
        return Plan(count, surcharge=intent.amount * surcharge_bps // 10_000)

    patch.setattr("payments.charging.installments.plan_of", plan_of)
