"""The events of topups (contract 8)."""

from events.types import Aggregate
from payouts.topups import states

TOPUPS = Aggregate("topup", (states.SUCCEEDED, states.UPDATED), scope="topups", schemas=("Topup",))
