"""Payouts as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
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
    "payout",
    (states.CREATED, states.PAID, states.FAILED),
    scope="payouts",
    schemas=("Payout",),
    meanings={
        states.CREATED: Meaning(
            cause=(
                "A payout was created, by the API, in the panel or by your schedule. The amount has"
                " left `available`."
            ),
            previous="Nothing: `{}`.",
        ),
        states.PAID: Meaning(
            cause="The bank says that the money has arrived.",
            previous="`status`, and `arrival_date` and `trace_id` where the bank gave others.",
        ),
        states.FAILED: Meaning(
            cause=(
                "The bank could not transfer the money, or it came back after it had been paid. It "
                "is available again."
            ),
            previous="`status`, `failure_code` and `failure_message`.",
        ),
    },
)


class PayoutFilters(Filters):
    parameters = {**Filters.parameters, "arrival_at": "arrival_date"}
    meanings = {
        "status": "Where the payout stands.",
        "arrival_date": "When it arrives or arrived, in Unix seconds.",
    }
    choices = {"status": render.STATUS}

    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Payout
        fields = {"status": ["in"], "currency": EXACT, "arrival_at": RANGE, "created_at": RANGE}


PAYOUTS = ListSpec(
    filters=PayoutFilters,
    sort_keys={"created": "created_at", "amount": "amount", "arrival_date": "arrival_at"},
)
