"""Disputes as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
from payments.disputes import render, schema, states
from payments.disputes.models import Dispute
from payments.intents.models import PaymentIntent

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
    meanings={
        states.CREATED_EVENT: Meaning(
            cause=(
                "A cardholder has disputed a payment at the bank. A `status` that begins with "
                "`warning_` is an inquiry, which takes no money."
            ),
            previous="Nothing: `{}`.",
        ),
        states.UPDATED_EVENT: Meaning(
            cause=(
                "Evidence or metadata was saved, evidence was submitted, or an inquiry became a "
                "dispute."
            ),
            previous="The changed fields, such as `evidence`, `evidence_details` and `status`.",
        ),
        states.CLOSED_EVENT: Meaning(
            cause=(
                "The dispute has ended as `won` or `lost`, or the inquiry as `warning_closed`. A "
                "dispute that the bank decides again is closed once more."
            ),
            previous="`status`, and what else changed with it.",
        ),
    },
)


class DisputeFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}
    meanings = {
        "payment_intent": "The id of the payment.",
        "status": "Where the dispute stands.",
        "evidence_due_by": "Until when evidence is taken, in Unix seconds.",
        "reason": "The cardholder's reason.",
    }
    choices = {"status": render.STATUS, "reason": render.REASON}

    payment_intent = ObjectIdFilter(
        "intent", method=of_the_merchant(PaymentIntent.objects.all(), "payment_intent")
    )

    class Meta(Filters.Meta):
        model = Dispute
        fields = {
            "status": ["in"],
            "evidence_due_by": RANGE,
            "intent": EXACT,
            "reason": EXACT,
            "created_at": RANGE,
        }


DISPUTES = ListSpec(
    filters=DisputeFilters,
    sort_keys={
        "created": "created_at",
        "amount": "amount",
        "evidence_due_by": "evidence_due_by",
    },
)
