"""The bodies of /v1/payouts, declared (contract 3 and contract-money, Payout)."""

from core.rest.fields import Amount, Currency, Metadata, Text
from core.rest.forms import Form

REFERENCE_MAX = 255
STATEMENT_MAX = 22


class CreatePayoutForm(Form):
    schema_name = "PayoutCreateParams"

    amount = Amount(help_text="How much to pay out, in minor units, up to what is `available`.")
    currency = Currency(help_text="The currency's three letters (ISO 4217), in any case.")
    destination = Text(
        max_length=REFERENCE_MAX,
        required=False,
        help_text=(
            "The reference of your account at a bank. Default: your account for the currency."
        ),
    )
    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    statement_descriptor = Text(
        max_length=STATEMENT_MAX,
        required=False,
        help_text=f"The text on your bank statement. Up to {STATEMENT_MAX} characters.",
    )
    metadata = Metadata(required=False)


class UpdatePayoutForm(Form):
    schema_name = "PayoutUpdateParams"
    null_clears = True

    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    metadata = Metadata(required=False)


class CancelPayoutForm(Form):
    """Nothing: a body with any parameter is refused."""

    schema_name = "PayoutCancelParams"
