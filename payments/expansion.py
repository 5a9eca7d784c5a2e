"""What `expand[]` may show whole of payments, and what these hold (spec: Expandable fields)."""

from core.rest.expansion import Kind, Reference, expandable
from payments import render
from payments.models import Attempt, Customer, LineItem, PaymentIntent

KINDS = {
    "payment_intent": Kind(
        rows=PaymentIntent.objects.all(),
        show=render.payment_intent,
        scope="payment_intents",
        fields={
            "customer": Reference("customer"),
            "latest_attempt": Reference("payment_attempt"),
            "attempts": Reference("payment_attempt", is_array=True),
            "line_items": Reference("line_item", is_array=True),
        },
    ),
    "payment_attempt": Kind(
        rows=Attempt.objects.all(),
        show=render.attempt,
        scope="payment_intents",
        fields={"payment_intent": Reference("payment_intent")},
    ),
    "line_item": Kind(rows=LineItem.objects.all(), show=render.line_item, scope="payment_intents"),
    # A deleted one too: it says no more than that.
    "customer": Kind(rows=Customer.objects.all(), show=render.customer, scope="customers"),
}

PAYMENT_INTENT = expandable(KINDS, "payment_intent")
# What search finds.
FOUND = expandable(KINDS, "payment_intent", "customer")
