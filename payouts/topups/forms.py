"""The bodies of /v1/topups, declared (contract 3 and contract-money, Topup)."""

from core.rest.fields import Amount, Currency, Metadata, Text
from core.rest.forms import Form

SOURCE_MAX = 40


class CreateTopupForm(Form):
    schema_name = "TopupCreateParams"

    amount = Amount(help_text="How much you transfer, in minor units.")
    currency = Currency(help_text="The currency's three letters (ISO 4217), in any case.")
    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    # A parameter, and not the attribute of the field.
    source = Text(  # type: ignore[assignment]
        max_length=SOURCE_MAX,
        required=False,
        help_text=(
            "In a sandbox how the transfer goes on, if it does not just come: `test_fail`, "
            "`test_reverse` or `test_never`. In a live installation any value is refused."
        ),
    )
    metadata = Metadata(required=False)


class UpdateTopupForm(Form):
    schema_name = "TopupUpdateParams"
    null_clears = True

    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    metadata = Metadata(required=False)


class CancelTopupForm(Form):
    """Nothing: a body with any parameter is refused."""

    schema_name = "TopupCancelParams"
