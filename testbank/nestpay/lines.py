"""Lines of an order: written with the bank's book, and read with what has become of them since."""

import secrets
import string
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core import clock, local_days, rows
from testbank import book, days
from testbank.behaviours import Behaviour
from testbank.models import Authorization, NestpayLine, Refund
from testbank.nestpay.terminals import NestpayTerminal
from testbank.orders import Terms
from testbank.states import State

# Payments that the bank counts as done, whatever has become of them since.
SUCCEEDED = (State.AUTHORIZED, State.VOIDED, State.LAPSED)
# How long a late success is missing from the inquiries, in the movable clock.
RECORDED_LATE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment of an order, in minor units; taken at once if `capture`."""

    terminal: NestpayTerminal
    order_id: str
    amount: int
    currency: str
    installments: int
    capture: bool


def pay(payment: Payment, behaviour: Behaviour, *, wrong: str = "") -> NestpayLine:
    """Write a payment into the book and the order's history, in the caller's transaction.

    The order id is no key at this bank. A second payment that gets through stands in the book
    under the bank's own number.
    """
    now, trans_id = clock.now(), new_trans_id()
    terms = Terms(
        reference=payment.order_id,
        merchant=payment.terminal.client_id,
        amount=payment.amount,
        currency=payment.currency,
        installments=payment.installments,
        capture=payment.capture,
    )
    again = replace(terms, reference=trans_id)
    authorization = book.enter(terms, behaviour, now=now) or book.enter(again, behaviour, now=now)
    assert authorization is not None  # No order id has the form of the bank's own numbers.
    if wrong == "timeout_reversed":
        authorization.reverses_at = days.end_of(now)
        authorization.save()
    line = NestpayLine(
        client_id=payment.terminal.client_id,
        order_id=payment.order_id,
        trans_id=trans_id,
        host_ref=host_ref(),
        amount=payment.amount,
        authorization=authorization,
        created_at=now,
        told_from=now + RECORDED_LATE if wrong == "recorded_late" else now,
    )
    rows.insert_new(line)
    return line


def exist(payment: Payment) -> bool:
    """Return whether the order of a payment has any line."""
    own = NestpayLine.objects.filter(
        client_id=payment.terminal.client_id, order_id=payment.order_id
    )
    return own.exists()


def give_back(of: NestpayLine, amount: int, refund: Refund | None, *, trans_id: str) -> NestpayLine:
    """Write a line for a refund; without one for what the bank did not even try."""
    now = clock.now()
    return NestpayLine.objects.create(
        client_id=of.client_id,
        order_id=of.order_id,
        trans_id=trans_id,
        host_ref=host_ref() if refund else "",
        is_refund=True,
        amount=amount,
        authorization=of.authorization,
        refund=refund,
        created_at=now,
        told_from=now,
    )


def of_order(terminal: NestpayTerminal, order_id: str) -> list[NestpayLine]:
    """Return what inquiries find of an order, oldest first, in the caller's transaction.

    Its payments are locked and up to date.
    """
    told = NestpayLine.objects.filter(
        client_id=terminal.client_id, order_id=order_id, told_from__lte=clock.now()
    )
    found = list(told.select_related("authorization").order_by("created_at", "pk"))
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


def payments(lines: list[NestpayLine]) -> list[NestpayLine]:
    return [line for line in lines if not line.is_refund]


def new_trans_id() -> str:
    """Return a number of the bank's own for a transaction."""
    return _trans_id(clock.now())


def host_ref() -> str:
    """Return a number of the host's: 12 digits, one less than the shortest card number."""
    return f"{secrets.randbelow(10**12):012d}"


def _trans_id(now: datetime) -> str:
    """Return such as `24001WPbHX6694K`: no order id that is upper case can be one."""
    letters = "".join(secrets.choice(string.ascii_letters) for _ in range(5))
    digits = "".join(secrets.choice(string.digits) for _ in range(5))
    last = secrets.choice(string.ascii_lowercase)
    return f"{local_days.shown(now, days.ZONE):%y%j}{letters}{digits}{last}"
