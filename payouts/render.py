"""Payouts as the API shows and describes them; answers and event bodies hold the same dicts."""

from core import clock
from core.rest import schema
from core.rest.schema import minor, nullable, text
from core.rest.shown import Field, Shown
from payouts.models import Payout
from payouts.states import MESSAGES, FailureCode, PayoutStatus


def _failure_message(payout: Payout) -> str | None:
    return MESSAGES[FailureCode(payout.failure_code)] if payout.failure_code else None


payout = Shown[Payout](
    "payout",
    "po",
    "Money that goes to your own account at a bank.",
    {
        "amount": minor("What is paid out."),
        "currency": schema.CURRENCY,
        "status": schema.one_of(PayoutStatus, "Where the payout stands."),
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
        "automatic": {"type": "boolean", "description": "Made by your schedule, and not by you."},
        "method": Field(schema.one_of(("standard",), "How it is paid out."), lambda _: "standard"),
        "destination": text("The reference of your account that it goes to."),
        "description": nullable(text("Your own words.")),
        "statement_descriptor": nullable(text("On the statement of your account.")),
        "failure_code": nullable(schema.one_of(FailureCode, "Why it failed.")),
        "failure_message": Field(nullable(text("The same in words.")), _failure_message),
        "trace_id": nullable(text("The number by which your bank finds it.")),
        "metadata": schema.METADATA,
    },
)
