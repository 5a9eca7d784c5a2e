"""`expand[]`: a payment with whole objects in the place of ids (spec: Expandable fields)."""

from collections.abc import Callable, Iterable
from typing import Any

from payments import render
from payments.models import PaymentIntent


def payment_intent(intent: PaymentIntent, fields: Iterable[str]) -> dict[str, Any]:
    """Return the payment as the API shows it, with the named fields expanded.

    :param fields: some of `PAYMENT_INTENT`.
    """
    expanded = {field: _WHOLE[field](intent) for field in set(fields)}
    return {**render.payment_intent(intent), **expanded}


def _attempts(intent: PaymentIntent) -> list[dict[str, Any]]:
    rows = {row.id: row for row in intent.attempts.filter(id__in=intent.attempt_ids)}
    return [render.attempt(rows[attempt_id]) for attempt_id in intent.attempt_ids]


def _latest_attempt(intent: PaymentIntent) -> dict[str, Any] | None:
    if not intent.attempt_ids:
        return None
    return render.attempt(intent.attempts.get(id=intent.attempt_ids[-1]))


def _customer(intent: PaymentIntent) -> dict[str, Any] | None:
    return render.customer(intent.customer) if intent.customer else None


def _line_items(intent: PaymentIntent) -> list[dict[str, Any]]:
    return [render.line_item(item) for item in intent.line_items.order_by("position")]


_WHOLE: dict[str, Callable[[PaymentIntent], Any]] = {
    "attempts": _attempts,
    "customer": _customer,
    "latest_attempt": _latest_attempt,
    "line_items": _line_items,
}

# What may be expanded, and the scope that it needs beside the payment's own.
PAYMENT_INTENT = {field: "customers" if field == "customer" else None for field in _WHOLE}
