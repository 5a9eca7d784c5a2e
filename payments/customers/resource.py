"""Customers as a resource."""

from core.rest.expansion import ObjectKind
from core.rest.filters import EXACT, RANGE, Filters, Rows, TextFilter
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
from payments.customers import customers, render, schema, search
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
    meanings={
        customers.CREATED: Meaning(
            cause="A customer was created.",
            previous="Nothing: `{}`.",
        ),
        customers.UPDATED: Meaning(
            cause=(
                "A customer's fields were changed. A request that changes nothing records nothing."
            ),
            previous=(
                "The changed fields; `address`, `shipping` and `metadata` with their changed keys "
                "alone."
            ),
        ),
        customers.DELETED: Meaning(
            cause=(
                "A customer was deleted. `data.object` is the customer as it was last, with "
                "`deleted` true."
            ),
            previous="`deleted`, which was null.",
        ),
    },
)


def _with_email(rows: Rows, _name: str, wanted: str) -> Rows:
    """`email=…`: exactly that address, in any spelling of its key."""
    return search.with_email(rows, wanted)


class CustomerFilters(Filters):
    meanings = {
        "email": "Exactly this e-mail address, in any case.",
    }

    email = TextFilter(method=_with_email)

    class Meta(Filters.Meta):
        model = Customer
        fields = {"email": EXACT, "created_at": RANGE}


CUSTOMERS = ListSpec(filters=CustomerFilters)
