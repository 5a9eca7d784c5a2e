"""Topups as the API shows and describes them; answers and event bodies hold the same dicts."""

from core import clock
from core.rest import schema
from core.rest.components import Choices, named
from core.rest.schema import minor, nullable, text
from core.rest.shown import Field, Shown
from payouts.topups.models import Topup
from payouts.topups.states import MESSAGES, TOPUPS, FailureCode, Initiator

STATUS = Choices("TopupStatus", TOPUPS.meanings)
_FAILURE_CODE = Choices("TopupFailureCode", MESSAGES)
_INITIATOR = Choices(
    "TopupInitiator",
    {
        Initiator.MERCHANT: "You created it.",
        Initiator.OPERATOR: "An operator of the service created it.",
    },
)
_SOURCE_TYPE = Choices(
    "TopupSourceType", {"bank_transfer": "A transfer to the service's bank account."}
)

_SOURCE = named("TopupSource", schema.record(
    "How the money comes.",
    {
        "type": _SOURCE_TYPE.open("How the money comes."),
        "reference": text("The text to write into the transfer, so that it can be found."),
    },
))  # fmt: skip


def _failure_message(topup: Topup) -> str | None:
    return MESSAGES[FailureCode(topup.failure_code)] if topup.failure_code else None


topup = Shown[Topup](
    "topup",
    "tu",
    "Money that you send to your balance.",
    {
        "amount": minor("What you will transfer, or have transferred."),
        "currency": schema.CURRENCY,
        "status": STATUS.open("Where the topup stands."),
        "description": nullable(text("Your own description; null if there is none.")),
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
        "failure_code": nullable(_FAILURE_CODE.open("Why it failed; null if it did not.")),
        "failure_message": Field(
            nullable(text("The same in words; null if it did not fail.")), _failure_message
        ),
        "initiated_by": _INITIATOR.open("Whether you created it, or an operator."),
        "metadata": schema.METADATA,
    },
)
