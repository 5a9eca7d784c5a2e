"""Payouts as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters
from core.rest.lists import ListSpec
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


class PayoutFilters(Filters):
    parameters = {**Filters.parameters, "arrival_at": "arrival_date"}

    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Payout
        fields = {"status": ["in"], "currency": EXACT, "arrival_at": RANGE, "created_at": RANGE}


PAYOUTS = ListSpec(
    filters=PayoutFilters,
    sort_keys={"created": "created_at", "amount": "amount", "arrival_date": "arrival_at"},
)
