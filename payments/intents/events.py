"""The events of payments (contract 8)."""

from events.types import Aggregate
from payments.intents import states

FRAUD_UPDATED = "payment_intent.fraud_updated"

AGGREGATE = Aggregate(
    "payment_intent",
    (
        states.CREATED, states.ACTION, states.PROCESSING, states.CAPTURABLE, states.SUCCEEDED,
        states.FAILED, states.CANCELED, FRAUD_UPDATED,
    ),
    scope="payment_intents",
    schemas=("PaymentIntent",),
)  # fmt: skip
