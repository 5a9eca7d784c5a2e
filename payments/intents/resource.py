"""Payments as a resource, with their attempts and line items (spec: Expandable fields)."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
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
    meanings={
        states.CREATED: Meaning(
            cause="A payment was created. It is recorded before the confirm of the same request.",
            previous="Nothing: `{}`.",
        ),
        states.ACTION: Meaning(
            cause=(
                "The customer has to authenticate: send them to `next_action`. Confirming again "
                "with another card records it once more."
            ),
            previous=(
                "`status`, `next_action`, and the fields that are absent while the customer is at "
                "the bank, such as `card` and `surcharge`."
            ),
        ),
        states.PROCESSING: Meaning(
            cause=(
                "The bank did not answer an authorisation, a capture or a cancellation, or it will "
                "decide later. Do not charge again: another event follows."
            ),
            previous="`status`, and `next_action` if the customer was at the bank.",
        ),
        states.CAPTURABLE: Meaning(
            cause=(
                "The bank authorised a payment with `capture_method` `manual`. It is also recorded "
                "when a capture or a cancellation turns out not to have been done."
            ),
            previous=(
                "`status`, `amount_capturable`, and what the confirm changed, such as `card` and "
                "`attempts`."
            ),
        ),
        states.SUCCEEDED: Meaning(
            cause="The card was charged, or what was authorised was captured.",
            previous=(
                "`status`, `amount_charged`, `amount_received`, `captured_minor`, "
                "`amount_refundable`, and what the confirm changed. A field that was absent is "
                "null."
            ),
        ),
        states.FAILED: Meaning(
            cause=(
                "An attempt failed: it was declined, the customer did not authenticate, a rule "
                "about risk blocked it, or the bank was not reached. The customer may try another "
                "card."
            ),
            previous=(
                "`last_payment_error`, `latest_attempt`, `attempts`, and `status` unless it was "
                "`requires_payment_method` before."
            ),
        ),
        states.CANCELED: Meaning(
            cause=(
                "You canceled the payment; or its authorisation expired after seven days, or was "
                "taken back by the bank."
            ),
            previous=(
                "`status`, `canceled_at`, `cancellation_reason`, and `amount_capturable` if the "
                "bank had authorised."
            ),
        ),
        states.FRAUD_UPDATED: Meaning(
            cause=(
                "The verdict about the payment's risk changed: the bank reported fraud, or an "
                "operator judged."
            ),
            previous="`fraud`, with its changed fields alone.",
        ),
    },
)  # fmt: skip
