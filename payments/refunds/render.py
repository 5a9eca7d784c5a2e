"""Refunds as the API shows and describes them; answers and event bodies hold the same dicts."""

from core.rest import schema
from core.rest.schema import identifier, minor, nullable, ref, text
from core.rest.shown import Field, Shown
from payments.refunds.models import Refund
from payments.refunds.states import REASONS, FailureReason, Method, PendingReason, RefundStatus

refund = Shown[Refund](
    "refund",
    "re",
    "Money that goes back to a card.",
    {
        "amount": minor("What goes back, surcharge included."),
        "currency": schema.CURRENCY,
        "payment_intent": Field(
            {
                "anyOf": [identifier("pi"), ref("PaymentIntent")],
                "description": "The payment. Expandable.",
            },
            "intent_id",
        ),
        "attempt": Field(
            {
                "anyOf": [identifier("att"), ref("PaymentAttempt")],
                "description": "The attempt that took the money. Expandable.",
            },
            "attempt_id",
        ),
        "status": schema.one_of(RefundStatus, "Where the refund stands."),
        "method": schema.one_of(
            Method,
            "A `void` is on no statement; the service chooses it for a whole same-day payment.",
        ),
        "reason": nullable(schema.one_of(REASONS, "Your reason.")),
        "description": nullable(text("Your own words.")),
        "failure_reason": nullable(schema.one_of(FailureReason, "Why it failed.")),
        "pending_reason": nullable(
            schema.one_of(PendingReason, "What a pending refund waits for.")
        ),
        "reference": nullable(text("The bank's number, for the cardholder.")),
        "metadata": schema.METADATA,
    },
)
