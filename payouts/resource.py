"""Payouts as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.resources import Resource
from events.types import Aggregate
from payouts import render, schema, states
from payouts.models import Payout

SCOPE = "payouts"

RESOURCE = Resource(
    path="payouts",
    scope=SCOPE,
    tag=("Payouts", "Send your money to your own account at a bank."),
    schemas=schema.SCHEMAS,
    kinds={
        "payout": ObjectKind(
            prefix="po", rows=Payout.objects.all(), show=render.payout, scope=SCOPE
        ),
    },
)


AGGREGATE = Aggregate(
    "payout", (states.CREATED, states.PAID, states.FAILED), scope="payouts", schemas=("Payout",)
)
