"""The bodies of /v1/payouts, declared (contract 3 and contract-money, Payout)."""

from core.rest.fields import Amount, Currency, Metadata, Text
from core.rest.forms import Form

REFERENCE_MAX = 255
STATEMENT_MAX = 22


class CreatePayoutForm(Form):
    amount = Amount()
    currency = Currency()
    destination = Text(max_length=REFERENCE_MAX, required=False)
    description = Text(max_length=1000, required=False)
    statement_descriptor = Text(max_length=STATEMENT_MAX, required=False)
    metadata = Metadata(required=False)


class UpdatePayoutForm(Form):
    null_clears = True

    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)


class CancelPayoutForm(Form):
    """Nothing: a body with any parameter is refused."""
