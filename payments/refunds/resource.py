"""Refunds as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate
from payments.intents.models import PaymentIntent
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


class RefundFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}

    payment_intent = ObjectIdFilter(
        "intent", method=of_the_merchant(PaymentIntent.objects.all(), "payment_intent")
    )

    class Meta(Filters.Meta):
        model = Refund
        fields = {
            "intent": EXACT,
            "status": ["in"],
            "method": EXACT,
            "amount": RANGE,
            "created_at": RANGE,
        }


REFUNDS = ListSpec(filters=RefundFilters, sort_keys={"created": "created_at", "amount": "amount"})
