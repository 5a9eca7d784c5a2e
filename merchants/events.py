"""The events of accounts (contract 8)."""

from events.types import Aggregate

UPDATED = "merchant.updated"

AGGREGATE = Aggregate("merchant", (UPDATED,), scope="merchant", schemas=("Merchant",))
