"""Customers that a text finds: an id, or an exact e-mail address (contract 7)."""

from typing import Any

from django.db.models import QuerySet, Value
from django.db.models.functions import Lower

Rows = QuerySet[Any]


def matching(rows: Any, text: str) -> Rows:
    """Return the customers that a text finds: an id, or an e-mail address in any case.

    :param rows: one merchant's customers.
    """
    if "@" in text:
        return with_email(rows, text)
    return rows.filter(id=text) if text.startswith("cus_") else rows.none()


def with_email(rows: Rows, email: str) -> Rows:
    """Return the customers with exactly this e-mail address, in any case; an index finds them."""
    found = rows.alias(lower_email=Lower("email"))
    return found.filter(lower_email=Lower(Value(email)))
