"""Payments as a resource, with their attempts and line items (spec: Expandable fields)."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.resources import Resource
from events.types import Aggregate
from payments.intents import render, schema, states
from payments.intents.models import LineItem, PaymentIntent

SCOPE = "payment_intents"

RESOURCE = Resource(
    path="payment_intents",
    scope=SCOPE,
    tag=("Payments", "Take, capture, cancel and find payments."),
    schemas=schema.SCHEMAS,
    kinds={
        "payment_intent": ObjectKind(
            prefix="pi",
            rows=PaymentIntent.objects.all(),
            show=render.payment_intent,
            scope=SCOPE,
            fields={
                "customer": Reference("customer"),
                "latest_attempt": Reference("payment_attempt"),
                "attempts": Reference("payment_attempt", is_array=True),
                "line_items": Reference("line_item", is_array=True),
            },
        ),
        "payment_attempt": ObjectKind(
            prefix="att",
            rows=render.ATTEMPTS,
            show=render.attempt,
            scope=SCOPE,
            fields={"payment_intent": Reference("payment_intent")},
        ),
        "line_item": ObjectKind(
            prefix="li", rows=LineItem.objects.all(), show=render.line_item, scope=SCOPE
        ),
    },
)


AGGREGATE = Aggregate(
    "payment_intent",
    (
        states.CREATED, states.ACTION, states.PROCESSING, states.CAPTURABLE, states.SUCCEEDED,
        states.FAILED, states.CANCELED, states.FRAUD_UPDATED,
    ),
    scope="payment_intents",
    schemas=("PaymentIntent",),
)  # fmt: skip
