"""Refunds as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.resources import Resource
from events.types import Aggregate
from payments.refunds import render, schema, states
from payments.refunds.models import Refund

SCOPE = "refunds"

RESOURCE = Resource(
    path="refunds",
    scope=SCOPE,
    tag=("Refunds", "Give captured money back."),
    schemas=schema.SCHEMAS,
    kinds={
        "refund": ObjectKind(
            prefix="re",
            rows=Refund.objects.all(),
            show=render.refund,
            scope=SCOPE,
            fields={
                "payment_intent": Reference("payment_intent"),
                "attempt": Reference("payment_attempt"),
            },
        ),
    },
)


AGGREGATE = Aggregate(
    "refund",
    (states.CREATED, states.UPDATED, states.SUCCEEDED, states.FAILED),
    scope="refunds",
    schemas=("Refund",),
)
