"""Disputes as the API shows and describes them; answers and event bodies hold the same dicts."""

from typing import Any

from core import clock
from core.rest import schema
from core.rest.schema import boolean, identifier, instant, nullable, ref, text
from core.rest.shown import Field, Shown
from payments.disputes.evidence import KEYS
from payments.disputes.models import Dispute
from payments.disputes.states import DisputeStatus, Reason

# The rows that `dispute` shows: with their payments.
DISPUTES = Dispute.objects.select_related("intent")
_DETAILS = schema.record(
    "How far the answer is.",
    {
        "due_by": instant("Until when evidence is taken."),
        "has_evidence": boolean("Whether any evidence is given."),
        "past_due": boolean(
            "Whether the due date passed without a submission, before the dispute was over."
        ),
        "submission_count": schema.integer("How often evidence was submitted."),
    },
)
_EVIDENCE = schema.record(
    "What you give to answer it; up to 20000 characters together.",
    {key: nullable({"type": "string"}) for key in KEYS},
)


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
            {"anyOf": [identifier("pi"), ref("PaymentIntent")], "description": "The payment."},
            "intent_id",
        ),
        "attempt": Field(
            {
                "anyOf": [identifier("att"), ref("PaymentAttempt")],
                "description": "The attempt that took the money.",
            },
            "attempt_id",
        ),
        "status": schema.one_of(
            DisputeStatus.values, "Of an inquiry, which takes no money, it begins with `warning_`."
        ),
        "reason": schema.one_of(Reason.values, "The cardholder's reason."),
        "network_reason_code": nullable(text("The card network's own code.")),
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
