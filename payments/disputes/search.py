"""Disputes that a text finds: by their id alone (contract 7)."""

from typing import Any

from django.db.models import QuerySet


def matching(rows: Any, text: str) -> QuerySet[Any]:
    """Return the dispute whose id the text is, if it is one.

    :param rows: one merchant's disputes.
    """
    return rows.filter(id=text) if text.startswith("dp_") else rows.none()
