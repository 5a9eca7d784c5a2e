"""Filters of the list of customers (contract 7)."""

from typing import Any

from django.db.models import QuerySet

from core.rest.filters import Equal, Filters, Instants
from core.rest.lists import ListSpec
from payments.customers import search


class Email(Equal):
    """`email=…`: exactly that address, in any spelling of its key."""

    def narrowed(self, rows: Any, wanted: str) -> QuerySet[Any]:
        return search.with_email(rows, wanted)


class CustomerFilters(Filters):
    email = Email("email")
    created = Instants("created_at")


CUSTOMERS = ListSpec(filters=CustomerFilters)
