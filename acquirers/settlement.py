"""Settlement files of banks, as an adapter reads them: CSV, turned into one set of columns.

An adapter whose bank writes another file turns it into the same rows. What the columns mean, and
whether a field is well-formed, is said and checked by `audit.reconciliation.lines`.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple, Protocol

COLUMNS = ("date", "type", "reference", "merchant", "currency", "amount", "value_date")
# Bytes of a line with its end; seven short fields need a quarter of it.
LONGEST = 1000
BOM = b"\xef\xbb\xbf"


class NotASettlementFile(Exception):
    """The file does not begin with the line of the columns' names."""


class Unreadable(Exception):
    """A line that is not compared; its text says why, and repeats nothing of it."""


class Row(NamedTuple):
    """One booking in the bank's file, each field as a text.

    :param number: of the line, from 1.
    :param reference: ours. At a bank without names of refunds a refund's is the order's, `-`, and
        the bank's own number of the refund.
    :param merchant: the bank's number; empty if the terminal says whose booking it is.
    :param amount: in minor units.
    """

    number: int
    date: str
    type: str
    reference: str
    merchant: str
    currency: str
    amount: str
    value_date: str


Refused = Callable[[int, str], None]


class Reader(Protocol):
    """A function that turns a bank's file into rows, as `read` does."""

    def __call__(self, file: BinaryIO, *, refused: Refused) -> Iterator[Row]: ...


def read(file: BinaryIO, *, refused: Refused) -> Iterator[Row]:
    """Return the rows of a file that has these very columns, in its order; the memory stays flat.

    UTF-8 with or without a mark, `,` or `;` between the fields. Empty lines are left out.

    :param refused: called with number and reason of each line that cannot be read.
    :raises NotASettlementFile: the first line does not name the columns.
    """
    for number, fields in _table(file, COLUMNS, refused):
        yield Row(number, *fields)


def _table(
    file: BinaryIO, columns: Sequence[str], refused: Refused
) -> Iterator[tuple[int, list[str]]]:
    texts = _texts(file, refused)
    separator = _separator(next(texts, (0, ""))[1], columns)
    for number, text in texts:
        try:
            fields = _fields(text, separator)
        except Unreadable as reason:
            refused(number, str(reason))
            continue
        if len(fields) == len(columns):
            yield number, fields
        else:
            refused(number, f"{len(fields)} fields instead of {len(columns)}")


def _separator(header: str, columns: Sequence[str]) -> str:
    for separator in ",;":
        try:
            if _fields(header, separator) == [*columns]:
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
