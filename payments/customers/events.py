"""The events of customers (contract 8)."""

from events.types import Aggregate

CREATED = "customer.created"
UPDATED = "customer.updated"
DELETED = "customer.deleted"

# The event of a deletion is the last place that shows the customer whole.
AGGREGATE = Aggregate(
    "customer",
    (CREATED, UPDATED, DELETED),
    scope="customers",
    schemas=("Customer", "CustomerAtDeletion"),
)
