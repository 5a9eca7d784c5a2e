"""Transactions of a Garanti order: each thing that the bank did to it has a number of its own."""

from core import ids, rows
from testbank.behaviours import APPROVED, Behaviour
from testbank.models import Authorization, GarantiLine, Refund
from testbank.protocols import lines
from testbank.protocols.lines import SUCCEEDED, Payment
from testbank.states import TransactionKind

PAYMENTS = (TransactionKind.SALES, TransactionKind.PREAUTH)
TAKING = (TransactionKind.SALES, TransactionKind.POSTAUTH)
NAME_CHARACTERS = 20


def pay(payment: Payment, behaviour: Behaviour, *, wrong: str = "") -> GarantiLine:
    """Write a payment into the book and to the order, in the caller's transaction."""
    authorization = lines.enter(payment, behaviour, second_name=new_name(), wrong=wrong)
    line = GarantiLine(
        **lines.of_payment(payment, authorization, wrong),
        kind=TransactionKind.SALES if payment.capture else TransactionKind.PREAUTH,
        code="",
    )
    rows.insert_new(line)
    return line


def add(
    of: GarantiLine,
    kind: TransactionKind,
    amount: int,
    code: str = "",
    refund: Refund | None = None,
) -> GarantiLine:
    """Write down what was done to a payment, or what its host refused."""
    return GarantiLine.objects.create(
        **lines.after(of, amount),
        kind=kind,
        code=code,
        refund=refund,
        host_ref=lines.host_ref(),
    )


def is_done(line: GarantiLine) -> bool:
    """Return whether the bank counts a payment, a capture or a void as done."""
    if line.kind in PAYMENTS:
        return line.authorization.state in SUCCEEDED
    return line.code == APPROVED


def last_done(found: list[GarantiLine], authorization: Authorization) -> GarantiLine | None:
    """Return the payment's transaction that a void is of: its capture, if it has one."""
    own = [
        line
        for line in found
        if line.authorization.pk == authorization.pk
        and line.kind in (*PAYMENTS, TransactionKind.POSTAUTH)
        and is_done(line)
    ]
    return own[-1] if own else None


def new_name() -> str:
    """Return a name of the bank's own, which no order id can be."""
    return f"gvps-{ids.random_base62(NAME_CHARACTERS)}"
