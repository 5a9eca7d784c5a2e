"""Topups as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.filters import EXACT, RANGE, CurrencyFilter, Filters
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
from payouts.topups import render, schema, states
from payouts.topups.models import Topup

SCOPE = "topups"

RESOURCE = Resource(
    path="topups",
    scope=SCOPE,
    tag=("Topups", "Send money to your balance by a bank transfer."),
    schemas=schema.SCHEMAS,
    kinds={
        "topup": ObjectKind(prefix="tu", rows=Topup.objects.all(), show=render.topup, scope=SCOPE),
    },
)


AGGREGATE = Aggregate(
    "topup",
    (states.SUCCEEDED, states.UPDATED),
    scope="topups",
    schemas=("Topup",),
    meanings={
        states.SUCCEEDED: Meaning(
            cause="The transfer has come to the bank, and the money is available.",
            previous="`status`.",
        ),
        states.UPDATED: Meaning(
            cause=(
                "Any other change of a topup: it failed, was canceled or taken back, or its "
                "`description` or `metadata` changed."
            ),
            previous="The changed fields, such as `status`, `failure_code` or `metadata`.",
        ),
    },
)


class TopupFilters(Filters):
    meanings = {
        "status": "Where the topup stands.",
    }
    choices = {"status": render.STATUS}

    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = Topup
        fields = {"status": ["in"], "currency": EXACT, "created_at": RANGE}


TOPUPS = ListSpec(filters=TopupFilters, sort_keys={"created": "created_at", "amount": "amount"})
