"""The settlement file: all money that the bank moved on one of its days, from its own book.

A difference can be planted into it, so that an acquirer's reconciliation has something to find.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TextIO

from django.db.models import Model

from core import ids
from testbank import book, days, incoming, transfers
from testbank.models import (
    Bounce,
    Capture,
    Chargeback,
    IncomingMove,
    Recovery,
    Repayment,
    Reversal,
    TransferMove,
)

COLUMNS = ("date", "type", "reference", "merchant", "currency", "amount", "value_date")
CHUNK = 2000
EXTRA_AMOUNT = 12_345
SATURDAY = 5


class NothingToAlter(Exception):
    """No money moved on the day, so that no line of it can be wrong."""


@dataclass(frozen=True, slots=True)
class Line:
    """One booking; the amount is above zero, in minor units, and the type gives its sign."""

    date: datetime.date
    type: str
    reference: str
    merchant: str
    currency: str
    amount: int
    value_date: datetime.date

    def __str__(self) -> str:
        return ",".join(str(getattr(self, name)) for name in COLUMNS)


class Moved(NamedTuple):
    """One kind of moved money.

    :param reference: the way to the object that has the reference.
    :param terms: the way to the object that has merchant and currency.
    """

    line_type: str
    model: type[Model]
    reference: str
    terms: str
    only: dict[str, int] = {}  # noqa: RUF012  # A default that nobody changes.


# An order that was voided on its day has two lines: the sale and the void.
MOVED = (
    Moved("sale", Capture, "authorization", "authorization"),
    Moved("void", Reversal, "authorization", "authorization"),
    Moved("refund", Repayment, "refund", "refund__authorization"),
    Moved("refund_return", Bounce, "refund", "refund__authorization"),
    Moved("chargeback", Chargeback, "dispute", "dispute__authorization"),
    Moved("chargeback_return", Recovery, "dispute", "dispute__authorization"),
    Moved("transfer_out", TransferMove, "transfer", "transfer", {"amount__gt": 0}),
    Moved("transfer_return", TransferMove, "transfer", "transfer", {"amount__lt": 0}),
    Moved("transfer_in", IncomingMove, "incoming", "incoming", {"amount__gt": 0}),
    Moved("transfer_in_return", IncomingMove, "incoming", "incoming", {"amount__lt": 0}),
)


def write(
    day: datetime.date, out: TextIO, *, wrong: str | None = None, terminal: str | None = None
) -> int:
    """Write the file of a day, whose end need not have come; return the number of its lines.

    :param terminal: the number of one at the NestPay doors, whose bookings alone the file has then.
    :param wrong: a name of `ALTERATIONS`; exactly one difference of that kind is planted.
    :raises NothingToAlter: there is no line to plant it in.
    """
    book.catch_up()
    transfers.catch_up()
    incoming.catch_up()
    out.write(",".join(COLUMNS) + "\n")
    count = 0
    lines = _of_terminal(day, terminal) if terminal else _lines(day)
    for line in _altered(lines, wrong) if wrong else lines:
        out.write(f"{line}\n")
        count += 1
    return count


def _lines(day: datetime.date) -> Iterator[Line]:
    for moved in MOVED:
        yield from _of(moved, day)


def _of_terminal(day: datetime.date, terminal: str) -> Iterator[Line]:
    """Return a terminal's lines: each is its own, and a refund is named by its order's reference.

    The bank has no reference of a refund there, but a number of its own.
    """
    for moved in MOVED:
        if moved.terms.endswith("authorization"):  # Transfers are the bank's, and no terminal's.
            own = {f"{moved.terms}__merchant": terminal}
            for line, order in _told(moved, day, own):
                is_refund = moved.reference == "refund"
                reference = f"{order}-{line.reference}" if is_refund else line.reference
                yield replace(line, merchant="", reference=reference)


def _of(moved: Moved, day: datetime.date) -> Iterator[Line]:
    return (line for line, _order in _told(moved, day, moved.only))


def _told(moved: Moved, day: datetime.date, only: Mapping[str, Any]) -> Iterator[tuple[Line, str]]:
    """Return the lines of a day, each with the reference of the object that has its terms."""
    begin, end = days.beginning_of(day), days.beginning_of(day + datetime.timedelta(days=1))
    rows = moved.model._default_manager.filter(created_at__gte=begin, created_at__lt=end)
    columns = (
        "pk", f"{moved.reference}__reference", f"{moved.terms}__merchant",
        f"{moved.terms}__currency", "amount", f"{moved.terms}__reference",
    )  # fmt: skip
    told, last = rows.filter(**only).order_by("pk").values_list(*columns), 0
    while chunk := list(told.filter(pk__gt=last)[:CHUNK]):
        for _pk, reference, merchant, currency, amount, order in chunk:
            line = Line(
                day, moved.line_type, reference, merchant, currency, abs(amount), _value_date(day)
            )
            yield line, order
        last = chunk[-1][0]


def _value_date(day: datetime.date) -> datetime.date:
    """Return the next day from Monday to Friday: the bank credits the money then."""
    following = day + datetime.timedelta(days=1)
    while following.weekday() >= SATURDAY:
        following += datetime.timedelta(days=1)
    return following


# --- Differences that can be planted ----------------------------------------------------------


def _missing(_line: Line) -> tuple[Line, ...]:
    return ()


def _extra(line: Line) -> tuple[Line, ...]:
    # A transfer that came in may be nobody's; a sale without a merchant could not be read.
    kind = "sale" if line.merchant else line.type
    return (line, replace(line, type=kind, reference=_reference(), amount=EXTRA_AMOUNT))


def _amount(line: Line) -> tuple[Line, ...]:
    return (replace(line, amount=line.amount + 1),)


def _currency(line: Line) -> tuple[Line, ...]:
    return (replace(line, currency="usd" if line.currency == "try" else "try"),)


def _duplicate(line: Line) -> tuple[Line, ...]:
    return (line, line)


ALTERATIONS: dict[str, Callable[[Line], tuple[Line, ...]]] = {
    "missing": _missing,
    "extra": _extra,
    "amount": _amount,
    "currency": _currency,
    "duplicate": _duplicate,
}


def _altered(lines: Iterator[Line], wrong: str) -> Iterator[Line]:
    """Plant a difference in the first line, or behind it."""
    first = next(lines, None)
    if first is None:
        raise NothingToAlter
    return chain(ALTERATIONS[wrong](first), lines)


def _reference() -> str:
    """Return a reference that no request had; a letter parts its digits."""
    return f"EXTRA{ids.random_base62(7)}X{ids.random_base62(7)}".upper()
