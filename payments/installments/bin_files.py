"""Files of BINs: read line by line in flat memory, each bad line reported (contract-terms)."""

import codecs
import csv
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from core.cards import BRANDS, brand_of
from core.detection import contains_card_number
from payments.installments.models import Bin

COLUMNS = (
    "prefix", "brand", "card_type", "country", "issuer", "program", "commercial",
    "three_d_secure_required",
)  # fmt: skip
# A line of the longest values has some 600 bytes, its letters outside of ASCII counted.
LINE_BYTES_MAX = 4096
PROBLEMS_SHOWN = 100
# A value with more digits, or longer, is not repeated: it may be a card number.
SHOWN_DIGITS, SHOWN_LENGTH = 8, 40
ISSUER_MAX = 100
PREFIX = re.compile(r"[0-9]{6,8}")
COUNTRY = re.compile(r"[A-Z]{2}")
PROGRAM = re.compile(r"[a-z0-9_]{1,40}")
BOOLEANS = {"true": True, "false": False}
# The place of a length's first prefix in the map of all that there can be.
FIRST_OF_LENGTH = {6: 0, 7: 10**6, 8: 10**6 + 10**7}
PREFIXES = 10**6 + 10**7 + 10**8

Value = str | bool | None


class Row(NamedTuple):
    """One prefix with its facts, in the order of the table's columns."""

    prefix: str
    brand: str | None
    card_type: str
    country: str
    issuer: str | None
    program: str | None
    commercial: bool
    three_d_secure_required: bool


class Problem(NamedTuple):
    """One reason why a file is refused; `column` is None if it concerns the whole line."""

    line: int
    column: str | None
    reason: str

    def __str__(self) -> str:
        place = f"line {self.line}" + (f", {self.column}" if self.column else "")
        return f"{place}: {self.reason}"


class Problems:
    """The first problems of a file, and how many there are."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0

    def add(self, line: int, column: str | None, reason: str) -> None:
        self.count += 1
        if self.count <= PROBLEMS_SHOWN:
            self.first.append(Problem(line, column, reason))


class BadValue(Exception):
    """A value is refused; the text says why, and does not repeat it."""


def rows(file: BinaryIO, problems: Problems) -> Iterator[Row]:
    """Yield the good rows of a file, and add its problems."""
    lines = _lines(file, problems)
    names = _header(next(lines, None), problems)
    if names is None:
        return
    seen, count = Seen(), 0
    for number, values in lines:
        count += 1
        if len(values) != len(names):
            problems.add(number, None, f"has {len(values)} values instead of {len(names)}")
        elif row := _row(number, dict(zip(names, values, strict=True)), seen, problems):
            yield row
    if not count and not problems.count:
        problems.add(1, None, "is the only line: the table would be empty")


class Seen:
    """Every prefix there can be has a bit here: 14 MB, however many lines a file has."""

    def __init__(self) -> None:
        self._bits = bytearray(PREFIXES // 8 + 1)

    def add(self, prefix: str) -> bool:
        """Note a prefix; return whether it is new."""
        place, bit = divmod(FIRST_OF_LENGTH[len(prefix)] + int(prefix), 8)
        is_new = not self._bits[place] >> bit & 1
        self._bits[place] |= 1 << bit
        return is_new


# --- Lines -------------------------------------------------------------------------------------


def _lines(file: BinaryIO, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Yield the values of each line that can be read, with its number; empty lines have none."""
    number = 0
    while line := file.readline(LINE_BYTES_MAX):
        number += 1
        if len(line) == LINE_BYTES_MAX and not line.endswith(b"\n"):
            _skip_rest_of_line(file)
            problems.add(number, None, f"is longer than {LINE_BYTES_MAX} bytes")
            continue
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            values = _values(line)
        except BadValue as problem:
            problems.add(number, None, str(problem))
            continue
        if values:
            yield number, values


def _skip_rest_of_line(file: BinaryIO) -> None:
    while (part := file.readline(LINE_BYTES_MAX)) and not part.endswith(b"\n"):
        pass


def _values(line: bytes) -> list[str]:
    try:
        text = line.decode().removesuffix("\n").removesuffix("\r")
        # Line by line: a quote that is not closed would otherwise take the rest of the file.
        return next(csv.reader([text], strict=True), [])
    except UnicodeDecodeError:
        raise BadValue("is not UTF-8") from None
    except csv.Error:
        raise BadValue("is not CSV: a quoted value ends on its own line") from None


def _header(first: tuple[int, list[str]] | None, problems: Problems) -> list[str] | None:
    """Return the names of the columns in the file's order; None if they are not right."""
    number, names = first or (1, [])
    if number != 1 or sorted(names) != sorted(COLUMNS):
        problems.add(1, None, f"must be the header, with the columns {','.join(COLUMNS)}")
        return None
    return names


# --- Values ------------------------------------------------------------------------------------


def _row(number: int, values: dict[str, str], seen: Seen, problems: Problems) -> Row | None:
    read: dict[str, Value] = {}
    for name in COLUMNS:
        try:
            read[name] = READERS[name](values[name])
        except BadValue as problem:
            problems.add(number, name, f"{problem}{_repeated(values[name])}")
    if "prefix" in read and not seen.add(values["prefix"]):
        problems.add(number, "prefix", f"was on an earlier line{_repeated(values['prefix'])}")
        return None
    if len(read) < len(COLUMNS):
        return None
    read["brand"] = read["brand"] or brand_of(values["prefix"])
    return Row(**read)  # type: ignore[arg-type]


def _repeated(value: str) -> str:
    digits = sum(char.isdigit() or char.isnumeric() for char in value)
    return "" if digits > SHOWN_DIGITS or len(value) > SHOWN_LENGTH else f": {value!r}"


def _matching(form: re.Pattern[str], rule: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if not form.fullmatch(value):
            raise BadValue(rule)
        return value

    return read


def _optional(read: Callable[[str], str]) -> Callable[[str], str | None]:
    return lambda value: read(value) if value else None


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    return _matching(re.compile("|".join(choices)), f"must be one of {' '.join(choices)}")


def _issuer(value: str) -> str:
    if len(value) > ISSUER_MAX or not value.isprintable():
        raise BadValue(f"must have up to {ISSUER_MAX} characters, all of them printable")
    return _no_card(value)


def _program(value: str) -> str:
    if not PROGRAM.fullmatch(value):
        raise BadValue("must be 1 to 40 of a-z, 0-9 and _")
    return _no_card(value)


def _no_card(value: str) -> str:
    if contains_card_number(value):
        raise BadValue("must not hold a card number")
    return value


def _boolean(value: str) -> bool:
    if value not in BOOLEANS:
        raise BadValue("must be true or false")
    return BOOLEANS[value]


READERS: dict[str, Callable[[str], Value]] = {
    "prefix": _matching(PREFIX, "must have 6 to 8 digits"),
    "brand": _optional(_one_of(BRANDS)),
    "card_type": _one_of(tuple(Bin.CardType.values)),
    "country": _matching(COUNTRY, "must be two capital letters"),
    "issuer": _optional(_issuer),
    "program": _optional(_program),
    "commercial": _boolean,
    "three_d_secure_required": _boolean,
}
