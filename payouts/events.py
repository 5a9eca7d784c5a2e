"""The events of payouts (contract 8)."""

from events.types import Aggregate
from payouts import states

PAYOUTS = Aggregate(
    "payout", (states.CREATED, states.PAID, states.FAILED), scope="payouts", schemas=("Payout",)
)
