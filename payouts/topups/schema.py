"""The description of topups in the API's schema."""

from core.errors import ParameterInvalid, UpstreamUnavailable
from core.rest import schema
from core.rest.schema import Operation, Schemas, minor, nullable, ref, text
from merchants.accounts import MerchantRestricted
from payouts.topups import forms, refusals
from payouts.topups.states import FailureCode, Initiator, TopupStatus

_SOURCE = schema.record(
    "How the money comes.",
    {
        "type": schema.one_of(("bank_transfer",), "By a transfer to the service's bank."),
        "reference": text("The text to write into the transfer."),
    },
)
_FIELDS: Schemas = {
    "amount": minor("What is to come."),
    "currency": schema.CURRENCY,
    "status": schema.one_of(TopupStatus, "Where the topup stands."),
    "description": nullable(text("Your own words.")),
    "expected_availability_date": {
        "type": "integer",
        "description": (
            "The beginning of the day, in your timezone, by which the money should be available. "
            "Unix seconds."
        ),
    },
    "source": _SOURCE,
    "failure_code": nullable(schema.one_of(FailureCode, "Why it failed.")),
    "failure_message": nullable(text("The same in words.")),
    "initiated_by": schema.one_of(Initiator, "Whether you made it, or the service's operator."),
    "metadata": schema.METADATA,
}

SCHEMAS: Schemas = {
    "Topup": schema.resource("topup", "tu", "Money that you send to your balance.", _FIELDS)
}

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
