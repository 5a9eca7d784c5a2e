"""The description of refunds in the API's schema."""

from core.errors import ResourceMissing
from core.rest import schema
from core.rest.schema import Operation, Schemas, ref
from payments.intents.refusals import IntentUnexpectedState
from payments.refunds import forms, refusals, render

SCHEMAS: Schemas = {"Refund": render.refund.schema}

REFUNDS = {
    "list": Operation(
        "List refunds",
        schema.list_of("RefundList", ref("Refund")),
        description="Your refunds, the newest first unless `sort` says otherwise.",
    ),
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
    "retrieve": Operation(
        "Read a refund", ref("Refund"), description="The refund as it is now."
    ),
    "update": Operation(
        "Change a refund",
        ref("Refund"),
        forms.UpdateRefundForm,
        description="The description and the metadata. What you do not give stays as it is.",
    ),
    "cancel": Operation(
        "Cancel a refund",
        ref("Refund"),
        forms.CancelRefundForm,
        description="Only while nothing is at the bank.",
        refuses=(refusals.RefundUnexpectedState,),
    ),
}  # fmt: skip
