"""The description of disputes in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, Schemas, ref
from payments.disputes import forms, render
from payments.disputes.refusals import DisputeUnexpectedState, EvidencePastDue

SCHEMAS: Schemas = {"Dispute": render.dispute.schema}

DISPUTES = {
    "list": Operation(
        "List disputes",
        schema.list_of("DisputeList", ref("Dispute")),
        description="Your disputes, the newest first unless `sort` says otherwise.",
    ),
    "retrieve": Operation(
        "Read a dispute", ref("Dispute"), description="The dispute as it is now."
    ),
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
