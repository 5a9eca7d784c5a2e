"""Lines of a NestPay order: its payments and its refunds."""

import secrets
import string
from datetime import datetime

from core import clock, local_days, rows
from testbank import days
from testbank.behaviours import Behaviour
from testbank.models import NestpayLine, Refund
from testbank.nestpay.terminals import NestpayTerminal
from testbank.protocols import lines
from testbank.protocols.lines import Payment


def pay(payment: Payment, behaviour: Behaviour, *, wrong: str = "") -> NestpayLine:
    """Write a payment into the book and the order's history, in the caller's transaction."""
    trans_id = new_trans_id()
    authorization = lines.enter(payment, behaviour, second_name=trans_id, wrong=wrong)
    line = NestpayLine(
        **lines.of_payment(payment, authorization, wrong), trans_id=trans_id, is_refund=False
    )
    rows.insert_new(line)
    return line


def give_back(of: NestpayLine, amount: int, refund: Refund | None, *, trans_id: str) -> NestpayLine:
    """Write a line for a refund; without one for what the bank did not even try."""
    return NestpayLine.objects.create(
        **lines.after(of, amount),
        trans_id=trans_id,
        host_ref=lines.host_ref() if refund else "",
        is_refund=True,
        refund=refund,
    )


def of_order(terminal: NestpayTerminal, order_id: str) -> list[NestpayLine]:
    """Return what inquiries find of an order, in the caller's transaction."""
    return lines.of_order(NestpayLine, terminal.client_id, order_id)


def payments(found: list[NestpayLine]) -> list[NestpayLine]:
    return [line for line in found if not line.is_refund]


def new_trans_id() -> str:
    """Return a number of the bank's own for a transaction."""
    return _trans_id(clock.now())


def _trans_id(now: datetime) -> str:
    """Return such as `24001WPbHX6694K`: no order id that is upper case can be one."""
    letters = "".join(secrets.choice(string.ascii_letters) for _ in range(5))
    digits = "".join(secrets.choice(string.digits) for _ in range(5))
    last = secrets.choice(string.ascii_lowercase)
    return f"{local_days.shown(now, days.ZONE):%y%j}{letters}{digits}{last}"
