"""Disputes as the API shows and describes them; answers and event bodies hold the same dicts."""

from typing import Any

from core import clock
from core.rest import schema
from core.rest.components import Choices, named
from core.rest.schema import boolean, instant, nullable, text, whole_or_id
from core.rest.shown import Field, Shown
from payments.disputes.evidence import KEYS, MEANINGS
from payments.disputes.models import Dispute
from payments.disputes.states import DISPUTES as _STATES
from payments.disputes.states import Reason

STATUS = Choices("DisputeStatus", _STATES.meanings)
REASON = Choices(
    "DisputeReason",
    {
        Reason.FRAUDULENT: "The cardholder says that they did not pay.",
        Reason.PRODUCT_NOT_RECEIVED: "The cardholder says that nothing was delivered.",
        Reason.PRODUCT_UNACCEPTABLE: "The cardholder says that the product is not as described.",
        Reason.DUPLICATE: "The cardholder says that they paid twice.",
        Reason.CREDIT_NOT_PROCESSED: "The cardholder says that a promised refund did not come.",
        Reason.SUBSCRIPTION_CANCELED: "The cardholder says that they had canceled a subscription.",
        Reason.UNRECOGNIZED: "The cardholder does not recognize the payment.",
        Reason.GENERAL: "Another reason, or one that the bank does not tell.",
    },
)

# The rows that `dispute` shows: with their payments.
DISPUTES = Dispute.objects.select_related("intent")
_DETAILS = named("DisputeEvidenceDetails", schema.record(
    "How far the answer is.",
    {
        "due_by": instant("Until when evidence is taken."),
        "has_evidence": boolean("Whether any evidence is given."),
        "past_due": boolean(
            "Whether the due date passed without a submission, before the dispute was over."
        ),
        "submission_count": schema.integer("How often evidence was submitted."),
    },
))  # fmt: skip
_EVIDENCE = named("DisputeEvidence", schema.record(
    "The evidence that you gave, up to 20000 characters together.",
    {key: nullable(text(f"{MEANINGS[key]} Null if not given.")) for key in KEYS},
))  # fmt: skip


def _due_by(dispute: Dispute) -> int:
    return clock.unix(dispute.evidence_due_by)


def _details(dispute: Dispute) -> dict[str, Any]:
    return {
        "due_by": _due_by(dispute),
        "has_evidence": bool(dispute.evidence),
        "past_due": dispute.is_past_due,
        "submission_count": dispute.submission_count,
    }


dispute = Shown[Dispute](
    "dispute",
    "dp",
    "A cardholder's complaint about a payment, at the bank.",
    {
        "amount": schema.minor("What is disputed, surcharge included."),
        "currency": schema.CURRENCY,
        "payment_intent": Field(
            whole_or_id("pi", "PaymentIntent", "The payment that is disputed."),
            "intent_id",
        ),
        "attempt": Field(
            whole_or_id("att", "PaymentAttempt", "The attempt that took the money."),
            "attempt_id",
        ),
        "status": STATUS.open(
            "Where the dispute stands. An inquiry takes no money: "
            "its statuses begin with `warning_`."
        ),
        "reason": REASON.open("The cardholder's reason."),
        "network_reason_code": nullable(
            text("The card network's own code for the reason; null if unknown.")
        ),
        "evidence_due_by": Field(instant("Until when evidence is taken."), _due_by),
        "evidence_details": Field(_DETAILS, _details),
        "evidence": Field(
            _EVIDENCE, lambda dispute: {key: dispute.evidence.get(key) for key in KEYS}
        ),
        "is_payment_refundable": Field(
            boolean("Whether any of the payment can still be refunded."),
            lambda dispute: dispute.intent.amount_refundable > 0,
        ),
        "metadata": schema.METADATA,
    },
)
