"""Refunds as the API shows and describes them; answers and event bodies hold the same dicts."""

from core.rest import schema
from core.rest.components import Choices
from core.rest.schema import minor, nullable, text, whole_or_id
from core.rest.shown import Field, Shown
from payments.refunds.models import Refund
from payments.refunds.states import REFUNDS, FailureReason, Method, PendingReason

STATUS = Choices("RefundStatus", REFUNDS.meanings)
METHOD = Choices(
    "RefundMethod",
    {
        Method.VOID: (
            "The whole payment is called off before the bank's end of day: it is on no statement."
        ),
        Method.REFUND: "The money goes back, and the cardholder's statement shows it.",
    },
)
REASON = Choices(
    "RefundReason",
    {
        "duplicate": "The payment exists twice.",
        "fraudulent": "The payment was fraudulent.",
        "requested_by_customer": "The customer asked for the money.",
    },
)
_FAILURE_REASON = Choices(
    "RefundFailureReason",
    {
        FailureReason.DECLINED: "The bank declined the refund.",
        FailureReason.LOST_OR_STOLEN_CARD: "The card was reported lost or stolen.",
        FailureReason.EXPIRED_OR_CANCELED_CARD: "The card has expired or was canceled.",
        FailureReason.INSUFFICIENT_FUNDS: "It waited 30 days for funds that did not come.",
        FailureReason.DISPUTED: "While it waited, a dispute took the money.",
        FailureReason.UNKNOWN: "The bank gave no reason.",
    },
)
_PENDING_REASON = Choices(
    "RefundPendingReason",
    {
        PendingReason.PROCESSING: "It is at the bank, or on its way.",
        PendingReason.INSUFFICIENT_FUNDS: (
            "Your balance is too low: it is sent once there are funds."
        ),
        PendingReason.BANK_DAY_OPEN: (
            "The bank takes it only after the end of its day: it is sent again then."
        ),
    },
)

refund = Shown[Refund](
    "refund",
    "re",
    "Money that goes back to the card of a payment.",
    {
        "amount": minor("What goes back, surcharge included."),
        "currency": schema.CURRENCY,
        "payment_intent": Field(
            whole_or_id("pi", "PaymentIntent", "The payment that is refunded."),
            "intent_id",
        ),
        "attempt": Field(
            whole_or_id("att", "PaymentAttempt", "The attempt that took the money."),
            "attempt_id",
        ),
        "status": STATUS.open("Where the refund stands."),
        "method": METHOD.open(
            "How the money goes back. The service chooses `void` "
            "for a whole payment of the same day."
        ),
        "reason": nullable(REASON.open("Your reason; null if you gave none.")),
        "description": nullable(text("Your own description; null if there is none.")),
        "failure_reason": nullable(_FAILURE_REASON.open("Why it failed; null if it did not.")),
        "pending_reason": nullable(
            _PENDING_REASON.open("What a pending refund waits for; null unless it is pending.")
        ),
        "reference": nullable(
            text("The bank's reference, to give to the cardholder; null until known.")
        ),
        "metadata": schema.METADATA,
    },
)
