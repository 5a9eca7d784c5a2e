"""Payouts as a resource."""

from core.rest.expansion import Kind
from core.rest.resources import Resource
from payouts import render, schema
from payouts.models import Payout

SCOPE = "payouts"

PAYOUTS = Resource(
    path="payouts",
    scope=SCOPE,
    tag=("Payouts", "Send your money to your own account at a bank."),
    schemas=schema.SCHEMAS,
    kinds={
        "payout": Kind(prefix="po", rows=Payout.objects.all(), show=render.payout, scope=SCOPE),
    },
)
