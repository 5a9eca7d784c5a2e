"""Disputes as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.resources import Resource
from events.types import Aggregate
from payments.disputes import render, schema, states

SCOPE = "disputes"

RESOURCE = Resource(
    path="disputes",
    scope=SCOPE,
    tag=("Disputes", "Answer what cardholders complain about at their bank."),
    schemas=schema.SCHEMAS,
    kinds={
        "dispute": ObjectKind(
            prefix="dp",
            rows=render.DISPUTES,
            show=render.dispute,
            scope=SCOPE,
            fields={
                "payment_intent": Reference("payment_intent"),
                "attempt": Reference("payment_attempt"),
            },
        ),
    },
)


AGGREGATE = Aggregate(
    "dispute",
    (states.CREATED_EVENT, states.UPDATED_EVENT, states.CLOSED_EVENT),
    scope="disputes",
    schemas=("Dispute",),
)
