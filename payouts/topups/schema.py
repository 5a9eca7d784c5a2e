"""The description of topups in the API's schema."""

from core.errors import ParameterInvalid, UpstreamUnavailable
from core.rest import schema
from core.rest.schema import Operation, Schemas, ref
from merchants.accounts import MerchantRestricted
from payouts.topups import forms, refusals, render

SCHEMAS: Schemas = {"Topup": render.topup.schema}

TOPUPS = {
    "list": Operation("List topups", schema.list_of(ref("Topup"))),
    "create": Operation(
        "Top up",
        ref("Topup"),
        forms.CreateTopupForm,
        description=(
            "Write `source.reference` into a bank transfer of this amount and currency. The money "
            "is available once the bank has told of it."
        ),
        refuses=(MerchantRestricted, UpstreamUnavailable, ParameterInvalid),
    ),
    "retrieve": Operation("Read a topup", ref("Topup")),
    "update": Operation("Change a topup", ref("Topup"), forms.UpdateTopupForm),
    "cancel": Operation(
        "Cancel a topup",
        ref("Topup"),
        forms.CancelTopupForm,
        description="Only while it is `pending`.",
        refuses=(refusals.TopupUnexpectedState,),
    ),
}
