"""The description of disputes in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, Schemas, boolean, identifier, instant, nullable, ref, text
from payments.disputes import forms
from payments.disputes.evidence import KEYS
from payments.disputes.refusals import DisputeUnexpectedState, EvidencePastDue
from payments.disputes.states import DisputeStatus, Reason

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

SCHEMAS: Schemas = {
    "Dispute": schema.resource(
        "dispute",
        "dp",
        "A cardholder's complaint about a payment, at the bank.",
        {
            "amount": schema.minor("What is disputed, surcharge included."),
            "currency": schema.CURRENCY,
            "payment_intent": {
                "anyOf": [identifier("pi"), ref("PaymentIntent")],
                "description": "The payment.",
            },
            "attempt": {
                "anyOf": [identifier("att"), ref("PaymentAttempt")],
                "description": "The attempt that took the money.",
            },
            "status": schema.one_of(
                DisputeStatus.values,
                "Of an inquiry, which takes no money, it begins with `warning_`.",
            ),
            "reason": schema.one_of(Reason.values, "The cardholder's reason."),
            "network_reason_code": nullable(text("The card network's own code.")),
            "evidence_due_by": instant("Until when evidence is taken."),
            "evidence_details": _DETAILS,
            "evidence": _EVIDENCE,
            "is_payment_refundable": boolean("Whether any of the payment can still be refunded."),
            "metadata": schema.METADATA,
        },
    ),
}

DISPUTES = {
    "list": Operation("List disputes", schema.list_of(ref("Dispute"))),
    "retrieve": Operation("Read a dispute", ref("Dispute")),
    "update": Operation(
        "Answer a dispute",
        ref("Dispute"),
        forms.UpdateDisputeForm,
        description=(
            "Evidence is merged with what you gave before; null clears a text. It goes to the "
            "bank with `submit`, once. Metadata may always change."
        ),
        refuses=(DisputeUnexpectedState, EvidencePastDue),
    ),
    "close": Operation(
        "Accept a dispute",
        ref("Dispute"),
        forms.CloseDisputeForm,
        description="A dispute is lost then; an inquiry ends.",
        refuses=(DisputeUnexpectedState,),
    ),
}
