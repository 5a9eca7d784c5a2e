"""The bank's book as its acquirer may read it, to lay it beside its own."""

from typing import Any

from django.db import transaction

from testbank import book
from testbank.models import Authorization
from testbank.router import BANK
from testbank.states import State

LINES = 200
FIELDS = ("reference", "merchant", "amount", "captured_amount", "currency", "state")


@transaction.atomic(using=BANK, durable=True)
def page(after: str) -> list[dict[str, Any]]:
    """Return the lines behind a reference, in order of the references."""
    book.lapse_overdue()
    lines = Authorization.objects.filter(reference__gt=after).order_by("reference")
    return [
        {**line, "capturable_amount": _capturable(line)} for line in lines.values(*FIELDS)[:LINES]
    ]


def _capturable(line: dict[str, Any]) -> int:
    # One capture per authorisation: it releases the rest.
    is_waiting = line["state"] == State.AUTHORIZED and not line["captured_amount"]
    return line["amount"] if is_waiting else 0
