"""The lines of a bank's settlement file, checked: nothing of a bad line is repeated.

issue: columns `date,type,reference,merchant,currency,amount,value_date`. A field that is refused
may hold anything, a card number too, so reasons name the column alone.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from acquirers.settlement import Refused, Row, Unreadable
from core.detection import contains_card_number

TYPES = (
    "sale", "void", "refund", "refund_return", "chargeback", "chargeback_return",
    "transfer_out", "transfer_return", "transfer_in", "transfer_in_return",
)  # fmt: skip
INCOMING = ("transfer_in", "transfer_in_return")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
MANY_DIGITS = re.compile(r"[0-9](?:[_-]?[0-9]){12}")
CURRENCY = re.compile(r"[A-Za-z]{3}", re.ASCII)
AMOUNT = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", re.ASCII)


class Line(NamedTuple):
    """One booking as the bank says it; the amount is above zero, in minor units."""

    number: int
    day: date
    type: str
    reference: str
    merchant: str
    currency: str
    amount: int
    value_date: date | None


def checked(rows: Iterable[Row], *, refused: Refused, of_terminal: bool) -> Iterator[Line]:
    """Return the lines of a file in its order; the memory stays flat.

    :param refused: called with number and reason of each line that cannot be read.
    :param of_terminal: a line need not name the merchant, for its terminal does.
    """
    for row in rows:
        try:
            yield _line(row, is_named=of_terminal or row.type in INCOMING)
        except Unreadable as reason:
            refused(row.number, str(reason))


def _line(row: Row, *, is_named: bool) -> Line:
    if row.type not in TYPES:
        raise Unreadable("type: none of the list")
    if not CURRENCY.fullmatch(row.currency):
        raise Unreadable("currency: not three letters")
    if not AMOUNT.fullmatch(row.amount):
        raise Unreadable("amount: not a whole number above zero, in minor units")
    return Line(
        row.number,
        _day("date", row.date),
        row.type,
        _name("reference", row.reference),
        # The bank need not know for whom a transfer came.
        _name("merchant", row.merchant) if row.merchant or not is_named else "",
        row.currency.lower(),
        int(row.amount),
        _day("value_date", row.value_date) if row.value_date else None,
    )


@lru_cache(maxsize=1000)
def _day(column: str, text: str) -> date:
    try:
        if DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise Unreadable(f"{column}: not a day as YYYY-MM-DD")


def _name(column: str, text: str) -> str:
    if not NAME.fullmatch(text):
        raise Unreadable(f"{column}: not 1 to 64 letters, digits, _ and -")
    if MANY_DIGITS.search(text) and _may_be_a_card(text):
        raise Unreadable(f"{column}: it may be a card number")
    return text


def _may_be_a_card(text: str) -> bool:
    # Of a number without letters it does not count whether its check digit is right.
    return contains_card_number(text) or not re.search("[A-Za-z]", text)
