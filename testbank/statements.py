"""The bank's book as its acquirer may read it, to compare it with its own.

All sums are counted from the rows of moved money: two captures must not look like one.
"""

from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, F, Model, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from testbank import book
from testbank.models import (
    Authorization,
    Bounce,
    Capture,
    Chargeback,
    Recovery,
    Refund,
    Repayment,
    Reversal,
)
from testbank.router import BANK
from testbank.states import State

# A page stays below the 64 KiB that an acquirer reads.
LINES = 100
# Each kind of moved money, with its way to the authorisation.
MOVED: dict[str, tuple[type[Model], str]] = {
    "taken_amount": (Capture, "authorization"),
    "returned_amount": (Reversal, "authorization"),
    "repaid_amount": (Repayment, "refund__authorization"),
    "bounced_amount": (Bounce, "refund__authorization"),
    "charged_back_amount": (Chargeback, "dispute__authorization"),
    "regained_amount": (Recovery, "dispute__authorization"),
}
FIELDS = (
    "reference", "merchant", "amount", "captured_amount", "currency", "installments", "state",
    *MOVED,
)  # fmt: skip
OF_REFUNDS: dict[str, tuple[type[Model], str]] = {
    "repaid_amount": (Repayment, "refund"),
    "bounced_amount": (Bounce, "refund"),
}


def _sums(moved: dict[str, tuple[type[Model], str]]) -> dict[str, Coalesce]:
    return {name: _sum_of(movements, way) for name, (movements, way) in moved.items()}


def _sum_of(movements: type[Model], way: str) -> Coalesce:
    own = movements._default_manager.filter(**{way: OuterRef("pk")}).values(way)
    return Coalesce(Subquery(own.values(total=Sum("amount"))), 0, output_field=BigIntegerField())


# Made once: making them takes as long as a short page.
SUMS, SUMS_OF_REFUNDS = _sums(MOVED), _sums(OF_REFUNDS)


@transaction.atomic(using=BANK, durable=True)
def page(after: str) -> list[dict[str, Any]]:
    """Return the lines behind a reference, in order of the references."""
    book.lapse_overdue()
    lines = Authorization.objects.filter(reference__gt=after).order_by("reference")
    lines = lines.annotate(**SUMS)
    return [
        {**line, "capturable_amount": _capturable(line)} for line in lines.values(*FIELDS)[:LINES]
    ]


@transaction.atomic(using=BANK, durable=True)
def page_of_refunds(after: str, refund: str) -> list[dict[str, Any]]:
    """Return the refunds behind one of an order, in order of the orders' references and theirs."""
    lines = Refund.objects.annotate(order=F("authorization__reference"), **SUMS_OF_REFUNDS)
    behind = lines.filter(Q(order__gt=after) | Q(order=after, reference__gt=refund))
    told = behind.order_by("order", "reference")
    return list(told.values("order", "reference", "amount", "state", *OF_REFUNDS)[:LINES])


def _capturable(line: dict[str, Any]) -> int:
    # One capture per authorisation: it releases the rest.
    is_waiting = line["state"] == State.AUTHORIZED and not line["captured_amount"]
    return line["amount"] if is_waiting else 0
