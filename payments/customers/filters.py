"""Filters of the list of customers (contract 7)."""

from core.rest.filters import EXACT, RANGE, Filters, Rows, TextFilter
from core.rest.lists import ListSpec
from payments.customers import search
from payments.customers.models import Customer


def _with_email(rows: Rows, _name: str, wanted: str) -> Rows:
    """`email=…`: exactly that address, in any spelling of its key."""
    return search.with_email(rows, wanted)


class CustomerFilters(Filters):
    email = TextFilter(method=_with_email)

    class Meta(Filters.Meta):
        model = Customer
        fields = {"email": EXACT, "created_at": RANGE}


CUSTOMERS = ListSpec(filters=CustomerFilters)
