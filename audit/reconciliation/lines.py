"""The form of a bank's settlement file, line by line: nothing of a bad line is repeated.

issue: columns `date,type,reference,merchant,currency,amount,value_date`. A field that is refused
may hold anything, a card number too, so reasons name the column alone.
"""

import csv
import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from core.detection import contains_card_number

COLUMNS = ("date", "type", "reference", "merchant", "currency", "amount", "value_date")
TYPES = (
    "sale", "void", "refund", "refund_return", "chargeback", "chargeback_return",
    "transfer_out", "transfer_return", "transfer_in", "transfer_in_return",
)  # fmt: skip
INCOMING = ("transfer_in", "transfer_in_return")
# Bytes of a line with its end; seven short fields need a quarter of it.
LONGEST = 1000
BOM = b"\xef\xbb\xbf"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
MANY_DIGITS = re.compile(r"[0-9](?:[_-]?[0-9]){12}")
CURRENCY = re.compile(r"[A-Za-z]{3}", re.ASCII)
AMOUNT = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", re.ASCII)


class NotASettlementFile(Exception):
    """The file does not begin with the line of the columns' names."""


class Unreadable(Exception):
    """A line that is not compared; its text says why, and repeats nothing of it."""


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


Refused = Callable[[int, str], None]


def read(file: BinaryIO, *, refused: Refused) -> Iterator[Line]:
    """Return the lines of a file in its order; the memory stays flat.

    UTF-8 with or without a mark, `,` or `;` between the fields. Empty lines are left out.

    :param refused: called with number and reason of each line that cannot be read.
    :raises NotASettlementFile: the first line does not name the columns.
    """
    texts = _texts(file, refused)
    separator = _separator(next(texts, (0, ""))[1])
    for number, text in texts:
        try:
            yield _line(number, text, separator)
        except Unreadable as reason:
            refused(number, str(reason))


def _separator(header: str) -> str:
    for separator in ",;":
        try:
            if tuple(_fields(header, separator)) == COLUMNS:
                return separator
        except Unreadable:
            continue
    raise NotASettlementFile


def _texts(file: BinaryIO, refused: Refused) -> Iterator[tuple[int, str]]:
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if number == 1:
            raw = raw.removeprefix(BOM)
        if len(raw) > LONGEST:
            _skip_rest(file, raw)
            refused(number, f"longer than {LONGEST} bytes")
        elif stripped := raw.rstrip(b"\r\n"):
            try:
                yield number, stripped.decode()
            except UnicodeDecodeError:
                refused(number, "not UTF-8")


def _skip_rest(file: BinaryIO, raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = file.readline(1 << 16)


def _fields(text: str, separator: str) -> list[str]:
    """Return the fields of one line: a quoted field ends with its line."""
    try:
        return next(csv.reader([text], delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        raise Unreadable("its quotes do not match") from None


def _line(number: int, text: str, separator: str) -> Line:
    fields = _fields(text, separator)
    if len(fields) != len(COLUMNS):
        raise Unreadable(f"{len(fields)} fields instead of {len(COLUMNS)}")
    day, kind, reference, merchant, currency, amount, value_date = fields
    if kind not in TYPES:
        raise Unreadable("type: none of the list")
    if not CURRENCY.fullmatch(currency):
        raise Unreadable("currency: not three letters")
    if not AMOUNT.fullmatch(amount):
        raise Unreadable("amount: not a whole number above zero, in minor units")
    return Line(
        number,
        _day("date", day),
        kind,
        _name("reference", reference),
        # The bank need not know for whom a transfer came.
        _name("merchant", merchant) if merchant or kind not in INCOMING else "",
        currency.lower(),
        int(amount),
        _day("value_date", value_date) if value_date else None,
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
