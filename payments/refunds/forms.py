"""The bodies of /v1/refunds, declared (contract 3 and contract-money, Refund)."""

from core.rest.fields import Amount, Choice, Metadata, Text
from core.rest.forms import Form
from payments.refunds.render import REASON

ID_MAX = 255


class CreateRefundForm(Form):
    schema_name = "RefundCreateParams"

    payment_intent = Text(max_length=ID_MAX, help_text="The id of the payment to refund.")
    amount = Amount(
        required=False,
        help_text=(
            "How much to refund, in minor units, up to `amount_refundable`. Default: all of it."
        ),
    )
    reason = Choice(REASON, required=False, help_text="Why you refund. Absent: none is kept.")
    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    metadata = Metadata(required=False)


class UpdateRefundForm(Form):
    schema_name = "RefundUpdateParams"
    null_clears = True

    description = Text(
        max_length=1000, required=False, help_text="Your own description. Up to 1000 characters."
    )
    metadata = Metadata(required=False)


class CancelRefundForm(Form):
    """Nothing: a body with any parameter is refused."""

    schema_name = "RefundCancelParams"
