"""Payouts as the API shows and describes them; answers and event bodies hold the same dicts."""

from core import clock
from core.rest import schema
from core.rest.components import Choices
from core.rest.schema import minor, nullable, text
from core.rest.shown import Field, Shown
from payouts.models import Payout
from payouts.states import MESSAGES, PAYOUTS, FailureCode

STATUS = Choices("PayoutStatus", PAYOUTS.meanings)
_METHOD = Choices("PayoutMethod", {"standard": "An ordinary bank transfer."})
_FAILURE_CODE = Choices("PayoutFailureCode", MESSAGES)


def _failure_message(payout: Payout) -> str | None:
    return MESSAGES[FailureCode(payout.failure_code)] if payout.failure_code else None


payout = Shown[Payout](
    "payout",
    "po",
    "Money that goes to your own account at a bank.",
    {
        "amount": minor("What is paid out."),
        "currency": schema.CURRENCY,
        "status": STATUS.open("Where the payout stands."),
        "arrival_date": Field(
            {
                "type": "integer",
                "description": (
                    "The beginning of the day on which it should arrive, or did, in your timezone. "
                    "Unix seconds."
                ),
            },
            lambda payout: clock.unix(payout.arrival_at),
        ),
        "automatic": {
            "type": "boolean",
            "description": "Whether your schedule made it. False: you did.",
        },
        "method": Field(_METHOD.open("How it is paid out."), lambda _: "standard"),
        "destination": text("The reference of your account that it goes to."),
        "description": nullable(text("Your own description; null if there is none.")),
        "statement_descriptor": nullable(
            text("The text on your bank statement; null if you gave none.")
        ),
        "failure_code": nullable(_FAILURE_CODE.open("Why it failed; null if it did not.")),
        "failure_message": Field(
            nullable(text("The same in words; null if it did not fail.")), _failure_message
        ),
        "trace_id": nullable(
            text("The number by which your bank finds it; null until it is known.")
        ),
        "metadata": schema.METADATA,
    },
)
