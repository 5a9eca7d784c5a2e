"""Topups as the API shows and describes them; answers and event bodies hold the same dicts."""

from core import clock
from core.rest import schema
from core.rest.schema import minor, nullable, text
from core.rest.shown import Field, Shown
from payouts.topups.models import Topup
from payouts.topups.states import MESSAGES, FailureCode, Initiator, TopupStatus

_SOURCE = schema.record(
    "How the money comes.",
    {
        "type": schema.one_of(("bank_transfer",), "By a transfer to the service's bank."),
        "reference": text("The text to write into the transfer."),
    },
)


def _failure_message(topup: Topup) -> str | None:
    return MESSAGES[FailureCode(topup.failure_code)] if topup.failure_code else None


topup = Shown[Topup](
    "topup",
    "tu",
    "Money that you send to your balance.",
    {
        "amount": minor("What is to come."),
        "currency": schema.CURRENCY,
        "status": schema.one_of(TopupStatus, "Where the topup stands."),
        "description": nullable(text("Your own words.")),
        "expected_availability_date": Field(
            {
                "type": "integer",
                "description": (
                    "The beginning of the day, in your timezone, by which the money should be "
                    "available. Unix seconds."
                ),
            },
            lambda topup: clock.unix(topup.expected_at),
        ),
        "source": Field(
            _SOURCE, lambda topup: {"type": "bank_transfer", "reference": topup.reference}
        ),
        "failure_code": nullable(schema.one_of(FailureCode, "Why it failed.")),
        "failure_message": Field(nullable(text("The same in words.")), _failure_message),
        "initiated_by": schema.one_of(Initiator, "Whether you made it, or the service's operator."),
        "metadata": schema.METADATA,
    },
)
