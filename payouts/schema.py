"""The description of payouts in the API's schema."""

from core.errors import ParameterMissing, ResourceMissing, UpstreamUnavailable
from core.rest import schema
from core.rest.schema import Operation, Schemas, ref
from merchants.accounts import MerchantRestricted
from payouts import forms, refusals, render

SCHEMAS: Schemas = {"Payout": render.payout.schema}

PAYOUTS = {
    "list": Operation(
        "List payouts",
        schema.list_of("PayoutList", ref("Payout")),
        description="Your payouts, the newest first unless `sort` says otherwise.",
    ),
    "create": Operation(
        "Pay out",
        ref("Payout"),
        forms.CreatePayoutForm,
        description=(
            "The amount leaves `available` at once, and the bank 60 seconds later at the earliest: "
            "until then the payout can be canceled."
        ),
        refuses=(
            MerchantRestricted, UpstreamUnavailable, ResourceMissing, ParameterMissing,
            refusals.BalanceInsufficient,
        ),
    ),
    "retrieve": Operation(
        "Read a payout", ref("Payout"), description="The payout as it is now."
    ),
    "update": Operation(
        "Change a payout",
        ref("Payout"),
        forms.UpdatePayoutForm,
        description="The description and the metadata. What you do not give stays as it is.",
    ),
    "cancel": Operation(
        "Cancel a payout",
        ref("Payout"),
        forms.CancelPayoutForm,
        description="Only while it is `pending`. Its money is available again.",
        refuses=(refusals.PayoutUnexpectedState,),
    ),
}  # fmt: skip
