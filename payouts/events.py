"""The events of payouts (contract 8)."""

from events.aggregates import Aggregate
from payouts import states

PAYOUTS = Aggregate(
    "payout", (states.CREATED, states.PAID, states.FAILED), scope="payouts", schemas=("Payout",)
)
