"""The bank's book as its acquirer may read it, to lay it beside its own."""

from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from testbank import book
from testbank.models import Authorization, Capture, Reversal
from testbank.router import BANK
from testbank.states import State

LINES = 200
FIELDS = (
    "reference", "merchant", "amount", "captured_amount", "taken_amount", "returned_amount",
    "currency", "state",
)  # fmt: skip


@transaction.atomic(using=BANK, durable=True)
def page(after: str) -> list[dict[str, Any]]:
    """Return the lines behind a reference, in order of the references."""
    book.lapse_overdue()
    lines = Authorization.objects.filter(reference__gt=after).order_by("reference")
    lines = lines.annotate(taken_amount=_sum_of(Capture), returned_amount=_sum_of(Reversal))
    return [
        {**line, "capturable_amount": _capturable(line)} for line in lines.values(*FIELDS)[:LINES]
    ]


def _sum_of(movements: type[Capture | Reversal]) -> Coalesce:
    """Return the sum of a line's movements, counted: two captures must not look like one."""
    own = movements.objects.filter(authorization=OuterRef("pk")).values("authorization")
    return Coalesce(Subquery(own.values(total=Sum("amount"))), 0, output_field=BigIntegerField())


def _capturable(line: dict[str, Any]) -> int:
    # One capture per authorisation: it releases the rest.
    is_waiting = line["state"] == State.AUTHORIZED and not line["captured_amount"]
    return line["amount"] if is_waiting else 0
