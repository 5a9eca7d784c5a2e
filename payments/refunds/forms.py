"""The bodies of /v1/refunds, declared (contract 3 and contract-money, Refund)."""

from core.rest.fields import Amount, Choice, Metadata, Text
from core.rest.forms import Form
from payments.refunds.states import REASONS

ID_MAX = 255


class CreateRefundForm(Form):
    payment_intent = Text(max_length=ID_MAX)
    amount = Amount(required=False)
    reason = Choice(REASONS, required=False)
    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)


class UpdateRefundForm(Form):
    null_clears = True

    description = Text(max_length=1000, required=False)
    metadata = Metadata(required=False)


class CancelRefundForm(Form):
    """Nothing: a body with any parameter is refused."""
