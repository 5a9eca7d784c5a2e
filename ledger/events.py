"""The events of balances (contract 8)."""

from events.types import Aggregate

AVAILABLE = "balance.available"
NEGATIVE_LIMIT_EXCEEDED = "balance.negative_limit_exceeded"

AGGREGATE = Aggregate(
    "balance", (AVAILABLE, NEGATIVE_LIMIT_EXCEEDED), scope=None, schemas=("Balance",)
)
