"""Customers that a text finds: an id, or an exact e-mail address (contract 7)."""

from typing import Any

from django.db.models import QuerySet

from core.names import email_key

Rows = QuerySet[Any]


def matching(rows: Any, text: str) -> Rows:
    """Return the customers that a text finds: an id, or an e-mail address.

    :param rows: one merchant's customers.
    """
    if "@" in text:
        return with_email(rows, text)
    return rows.filter(id=text) if text.startswith("cus_") else rows.none()


def with_email(rows: Rows, email: str) -> Rows:
    """Return the customers with exactly this e-mail address, by its key; an index finds them."""
    return rows.filter(email_key=email_key(email))
