"""The description of payouts in the API's schema."""

from core.errors import ParameterMissing, ResourceMissing, UpstreamUnavailable
from core.rest import schema
from core.rest.schema import Operation, Schemas, minor, nullable, ref, text
from merchants.accounts import MerchantRestricted
from payouts import forms, refusals
from payouts.states import FailureCode, PayoutStatus

_FIELDS: Schemas = {
    "amount": minor("What is paid out."),
    "currency": schema.CURRENCY,
    "status": schema.one_of(PayoutStatus, "Where the payout stands."),
    "arrival_date": {
        "type": "integer",
        "description": (
            "The beginning of the day on which it should arrive, or did, in your timezone. Unix "
            "seconds."
        ),
    },
    "automatic": {"type": "boolean", "description": "Made by your schedule, and not by you."},
    "method": schema.one_of(("standard",), "How it is paid out."),
    "destination": text("The reference of your account that it goes to."),
    "description": nullable(text("Your own words.")),
    "statement_descriptor": nullable(text("On the statement of your account.")),
    "failure_code": nullable(schema.one_of(FailureCode, "Why it failed.")),
    "failure_message": nullable(text("The same in words.")),
    "trace_id": nullable(text("The number by which your bank finds it.")),
    "metadata": schema.METADATA,
}

SCHEMAS: Schemas = {
    "Payout": schema.resource(
        "payout", "po", "Money that goes to your own account at a bank.", _FIELDS
    )
}

PAYOUTS = {
    "list": Operation("List payouts", schema.list_of(ref("Payout"))),
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
    "retrieve": Operation("Read a payout", ref("Payout")),
    "update": Operation("Change a payout", ref("Payout"), forms.UpdatePayoutForm),
    "cancel": Operation(
        "Cancel a payout",
        ref("Payout"),
        forms.CancelPayoutForm,
        description="Only while it is `pending`. Its money is available again.",
        refuses=(refusals.PayoutUnexpectedState,),
    ),
}  # fmt: skip
