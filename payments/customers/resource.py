"""Customers as a resource."""

from core.rest.expansion import Kind
from core.rest.resources import Resource
from payments.customers import render, schema
from payments.customers.models import Customer

RESOURCE = Resource(
    path="customers",
    scope="customers",
    tag=("Customers", "Who pays you."),
    schemas=schema.SCHEMAS,
    kinds={
        # Deleted customers are shown too: their id, and that they were deleted.
        "customer": Kind(
            prefix="cus", rows=Customer.objects.all(), show=render.customer, scope="customers"
        ),
    },
)
