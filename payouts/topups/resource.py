"""Topups as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.resources import Resource
from events.types import Aggregate
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
    "topup", (states.SUCCEEDED, states.UPDATED), scope="topups", schemas=("Topup",)
)
