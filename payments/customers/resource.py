"""Customers as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.resources import Resource
from events.types import Aggregate
from payments.customers import customers, render, schema
from payments.customers.models import Customer

RESOURCE = Resource(
    path="customers",
    scope="customers",
    tag=("Customers", "Who pays you."),
    schemas=schema.SCHEMAS,
    kinds={
        # Deleted customers are shown too: their id, and that they were deleted.
        "customer": ObjectKind(
            prefix="cus", rows=Customer.objects.all(), show=render.customer, scope="customers"
        ),
    },
)


# The event of a deletion is the last place that shows the customer whole.
AGGREGATE = Aggregate(
    "customer",
    (customers.CREATED, customers.UPDATED, customers.DELETED),
    scope="customers",
    schemas=("Customer", "CustomerAtDeletion"),
)
