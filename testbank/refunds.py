"""Giving captured money back to the card: in parts, together never more than was captured."""

from typing import Any

from django.db import transaction

from core import clock
from testbank import behaviours, book, repayments
from testbank.models import Authorization, Refund
from testbank.orders import NAME, RefundOrder
from testbank.router import BANK
from testbank.states import RefundState, State


@transaction.atomic(using=BANK, durable=True)
def refund(order: RefundOrder) -> Refund | None:
    """Refund once per reference; a reference asked again gets what has become of the first.

    :returns: None if the bank has no such authorisation: nothing is written then.
    """
    first = book.locked_refund(order.reference)
    if first is not None:
        return first
    authorization = book.locked(order.authorization)
    return None if authorization is None else refund_locked(order, authorization)


def refund_locked(order: RefundOrder, authorization: Authorization) -> Refund:
    """Refund of a locked authorisation in the caller's transaction."""
    # Requests that race with one reference wait for the lock, and at the index if they name two
    # authorisations.
    row, is_new = Refund.objects.get_or_create(
        reference=order.reference, defaults=_entry(order, authorization)
    )
    if is_new and row.state != RefundState.REFUSED:
        repayments.begin(row, authorization)
    return row


@transaction.atomic(using=BANK, durable=True)
def look_up(reference: str) -> Refund | None:
    """Return what the book says of a refund, None if the bank never heard of it."""
    return book.locked_refund(reference) if NAME.fullmatch(reference) else None


def _entry(order: RefundOrder, authorization: Authorization) -> dict[str, Any]:
    refusal = _refusal(authorization, order.amount)
    refused = {"state": RefundState.REFUSED, "response_code": refusal}
    return {
        "authorization": authorization,
        "amount": order.amount,
        "created_at": clock.now(),
        **(refused if refusal else repayments.beginning(authorization)),
    }


def _refusal(authorization: Authorization, amount: int) -> str | None:
    if authorization.state != State.AUTHORIZED or not authorization.captured_amount:
        return behaviours.INVALID_TRANSACTION
    if amount > authorization.available_amount:
        return behaviours.INVALID_AMOUNT
    if book.behaviour_of(authorization).refuses_refund:
        return behaviours.DO_NOT_HONOR
    return None
