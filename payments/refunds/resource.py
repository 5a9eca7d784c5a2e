"""Refunds as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
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
    meanings={
        states.CREATED: Meaning(
            cause=(
                "A refund was created, by the API, in the panel, or by the service after the bank "
                "has reversed a payment. It always shows `pending`."
            ),
            previous="Nothing: `{}`.",
        ),
        states.UPDATED: Meaning(
            cause=(
                "A refund changed without coming to its end: it waits for your funds or for the "
                "end of the bank's day, or no longer does; a void became a refund; or it has its "
                "`reference`. Canceling it, and changing `description` or `metadata`, are reported "
                "by it too."
            ),
            previous=(
                "The changed fields, such as `pending_reason`, `method`, `reference`, `status` or "
                "`metadata`."
            ),
        ),
        states.SUCCEEDED: Meaning(
            cause="The bank has given the money back.",
            previous="`status`, `pending_reason`, and `reference` if the bank gave it only now.",
        ),
        states.FAILED: Meaning(
            cause=(
                "The bank refused the refund, or the money came back from the card. A refund that "
                "waited too long for your funds fails too."
            ),
            previous=(
                "`status` and `failure_reason`, and `pending_reason` if the refund was pending."
            ),
        ),
    },
)


class RefundFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}
    meanings = {
        "payment_intent": "The id of the payment.",
        "status": "Where the refund stands.",
        "method": "How the money goes back.",
    }
    choices = {"status": render.STATUS, "method": render.METHOD}

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
