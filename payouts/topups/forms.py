"""The bodies of /v1/topups, declared (contract 3 and contract-money, Topup)."""

from core.rest.fields import Amount, Currency, Metadata, Text
from core.rest.forms import Form

SOURCE_MAX = 40


class CreateTopupForm(Form):
    amount = Amount()
    currency = Currency()
    description = Text(max_length=1000, required=False)
    # A parameter, and not the attribute of the field.
    source = Text(max_length=SOURCE_MAX, required=False)  # type: ignore[assignment]
    metadata = Metadata(required=False)


class UpdateTopupForm(Form):
    null_clears = True

    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)


class CancelTopupForm(Form):
    """Nothing: a body with any parameter is refused."""
