"""The description of topups in the API's schema."""

from core.errors import ParameterInvalid, UpstreamUnavailable
from core.rest import schema
from core.rest.schema import Operation, Schemas, ref
from merchants.accounts import MerchantRestricted
from payouts.topups import forms, refusals, render

SCHEMAS: Schemas = {"Topup": render.topup.schema}

TOPUPS = {
    "list": Operation(
        "List topups",
        schema.list_of("TopupList", ref("Topup")),
        description="Your topups, the newest first unless `sort` says otherwise.",
    ),
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
    "retrieve": Operation("Read a topup", ref("Topup"), description="The topup as it is now."),
    "update": Operation(
        "Change a topup",
        ref("Topup"),
        forms.UpdateTopupForm,
        description="The description and the metadata. What you do not give stays as it is.",
    ),
    "cancel": Operation(
        "Cancel a topup",
        ref("Topup"),
        forms.CancelTopupForm,
        description="Only while it is `pending`.",
        refuses=(refusals.TopupUnexpectedState,),
    ),
}
