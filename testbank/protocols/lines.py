"""Lines of an order: written with the bank's book, and read with what has become of them since."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from django.db.models import F, Q, QuerySet

from core import clock
from testbank import book, days
from testbank.behaviours import Behaviour
from testbank.models import Authorization, OrderLine, Refund
from testbank.orders import Terms
from testbank.states import State

# Payments that the bank counts as done, whatever has become of them since.
SUCCEEDED = (State.AUTHORIZED, State.VOIDED, State.LAPSED)
Line = TypeVar("Line", bound=OrderLine)
# How long a late success is missing from the inquiries, in the movable clock.
RECORDED_LATE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment of an order, in minor units; taken at once if `capture`.

    :param client_id: the terminal's number at the bank.
    """

    client_id: str
    order_id: str
    amount: int
    currency: str
    installments: int
    capture: bool


def enter(
    payment: Payment, behaviour: Behaviour, *, second_name: str, wrong: str = ""
) -> Authorization:
    """Write a payment into the book, in the caller's transaction.

    The order id is no key at such a bank. A second payment that gets through stands in the book
    under the bank's own name of it, which no order id can be.
    """
    now = clock.now()
    terms = Terms(
        reference=payment.order_id,
        merchant=payment.client_id,
        amount=payment.amount,
        currency=payment.currency,
        installments=payment.installments,
        capture=payment.capture,
    )
    again = replace(terms, reference=second_name)
    authorization = book.enter(terms, behaviour, now=now) or book.enter(again, behaviour, now=now)
    assert authorization is not None
    if wrong == "timeout_reversed":
        authorization.reverses_at = days.end_of(now)
        authorization.save()
    return authorization


def of_payment(payment: Payment, authorization: Authorization, wrong: str = "") -> dict[str, Any]:
    """Return the columns of a payment's line."""
    now = clock.now()
    return {
        "client_id": payment.client_id,
        "order_id": payment.order_id,
        "host_ref": host_ref(),
        "amount": payment.amount,
        "authorization": authorization,
        "created_at": now,
        "told_from": now + RECORDED_LATE if wrong == "recorded_late" else now,
    }


def after(line: OrderLine, amount: int) -> dict[str, Any]:
    """Return the columns of a line about what was done to another line's payment."""
    now = clock.now()
    return {
        "client_id": line.client_id,
        "order_id": line.order_id,
        "amount": amount,
        "authorization": line.authorization,
        "created_at": now,
        "told_from": now,
    }


def exist(table: type[OrderLine], payment: Payment) -> bool:
    """Return whether the order of a payment has any line."""
    own = table._default_manager.filter(client_id=payment.client_id, order_id=payment.order_id)
    return own.exists()


def known(lines: QuerySet[Line]) -> QuerySet[Line]:
    """Return the lines that inquiries find: all but a success that is recorded late.

    A line that is not late is found by a clock that was set back, too.
    """
    return lines.filter(Q(told_from=F("created_at")) | Q(told_from__lte=clock.now()))


def of_order(table: type[Line], client_id: str, order_id: str) -> list[Line]:
    """Return what inquiries find of an order, oldest first, in the caller's transaction.

    Its payments are locked and up to date.
    """
    own = table._default_manager.filter(client_id=client_id, order_id=order_id)
    found = list(known(own).select_related("authorization").order_by("created_at", "pk"))
    locked: dict[str, Authorization | None] = {}
    for line in found:
        reference = line.authorization.reference
        if reference not in locked:
            locked[reference] = book.locked(reference)
        line.authorization = locked[reference]  # type: ignore[assignment]
    # Refunds are read only now: what was due was done when their payment was locked.
    refunds = Refund.objects.in_bulk([line.refund_id for line in found if line.refund_id])
    for line in found:
        if line.refund_id:
            line.refund = refunds[line.refund_id]
    return found


def are_never_known(lines: list[Any]) -> bool:
    """Return whether the bank itself does not know, and never will."""
    return any(
        line.authorization.state == State.PENDING and not line.authorization.answered
        for line in lines
    )


def host_ref() -> str:
    """Return a number of the host's: 12 digits, one less than the shortest card number."""
    return f"{secrets.randbelow(10**12):012d}"
