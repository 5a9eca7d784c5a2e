"""The description of refunds in the API's schema."""

from core.errors import ResourceMissing
from core.rest import schema
from core.rest.schema import Operation, Schemas, identifier, minor, nullable, ref, text
from payments.intents.refusals import IntentUnexpectedState
from payments.refunds import forms, refusals
from payments.refunds.states import FailureReason, Method, PendingReason, RefundStatus

_FIELDS: Schemas = {
    "amount": minor("What goes back, surcharge included."),
    "currency": schema.CURRENCY,
    "payment_intent": {
        "anyOf": [identifier("pi"), ref("PaymentIntent")],
        "description": "The payment. Expandable.",
    },
    "attempt": {
        "anyOf": [identifier("att"), ref("PaymentAttempt")],
        "description": "The attempt that took the money. Expandable.",
    },
    "status": schema.one_of(RefundStatus, "Where the refund stands."),
    "method": schema.one_of(
        Method, "A `void` is on no statement; the service chooses it for a whole same-day payment."
    ),
    "reason": nullable(schema.one_of(forms.REASONS, "Your reason.")),
    "description": nullable(text("Your own words.")),
    "failure_reason": nullable(schema.one_of(FailureReason, "Why it failed.")),
    "pending_reason": nullable(schema.one_of(PendingReason, "What a pending refund waits for.")),
    "reference": nullable(text("The bank's number, for the cardholder.")),
    "metadata": schema.METADATA,
}

SCHEMAS: Schemas = {
    "Refund": schema.resource("refund", "re", "Money that goes back to a card.", _FIELDS)
}

REFUNDS = {
    "list": Operation("List refunds", schema.list_of(ref("Refund"))),
    "create": Operation(
        "Refund a payment",
        ref("Refund"),
        forms.CreateRefundForm,
        description=(
            "All that can be refunded, or the amount that you give. A bank that refuses is no "
            "error: the answer is 200, and the status `failed`."
        ),
        refuses=(
            IntentUnexpectedState, refusals.AlreadyRefunded, refusals.PaymentDisputed,
            refusals.AmountAboveRefundable, ResourceMissing,
        ),
    ),
    "retrieve": Operation("Read a refund", ref("Refund")),
    "update": Operation("Change a refund", ref("Refund"), forms.UpdateRefundForm),
    "cancel": Operation(
        "Cancel a refund",
        ref("Refund"),
        forms.CancelRefundForm,
        description="Only while nothing has left for the bank.",
        refuses=(refusals.RefundUnexpectedState,),
    ),
}  # fmt: skip
