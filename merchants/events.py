"""The events of accounts (contract 8)."""

from events.aggregates import Aggregate

UPDATED = "merchant.updated"

AGGREGATE = Aggregate("merchant", (UPDATED,), scope="merchant", schemas=("Merchant",))
