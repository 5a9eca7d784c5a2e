"""Card numbers: how to recognise, name and mask them; and the one object that carries them.

Nothing here needs Django: the log formatter uses it while the settings are being read.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any, NoReturn, SupportsIndex

# --- Brands -----------------------------------------------------------------------------------

# Public IIN ranges: first and last prefix, brand, lengths that the brand issues. The longest
# prefix wins, so 9792 and 65 are Troy's although Discover once listed 65.
_RANGES: list[tuple[int, int, str, tuple[int, ...]]] = [
    (4, 4, "visa", (16, 19)),
    (51, 55, "mastercard", (16,)),
    (2221, 2720, "mastercard", (16,)),
    (65, 65, "troy", (16,)),
    (9792, 9792, "troy", (16,)),
    (34, 34, "amex", (15,)),
    (37, 37, "amex", (15,)),
    (50, 50, "maestro", (16, 18, 19)),
    (56, 59, "maestro", (16, 18, 19)),
    (63, 63, "maestro", (16, 18, 19)),
    (67, 67, "maestro", (16, 18, 19)),
    (3528, 3589, "jcb", (16,)),
    (62, 62, "unionpay", (16, 17, 18, 19)),
    (810, 817, "unionpay", (16, 17, 18, 19)),
    (6011, 6011, "discover", (16,)),
    (644, 649, "discover", (16,)),
    (300, 305, "diners", (14, 16)),
    (3095, 3095, "diners", (14, 16)),
    (36, 36, "diners", (14, 16)),
    (38, 39, "diners", (14, 16)),
]
_ISSUED = {
    str(prefix): (brand, lengths)
    for first, last, brand, lengths in _RANGES
    for prefix in range(first, last + 1)
}
_LONGEST_PREFIX = 4
_SHORTEST = 13
_NOBODY: tuple[str | None, tuple[int, ...]] = (None, ())


def brand_of(number: str) -> str | None:
    """Return the brand by the number's (or BIN's) first digits, None if nobody's."""
    return _issuer(number[:_LONGEST_PREFIX])[0]


def luhn_valid(digits: str) -> bool:
    """Tell whether the check digit is right; anything but ASCII digits is not valid."""
    if not (digits.isascii() and digits.isdigit()):
        return False
    return _is_luhn(_luhn_sums(digits), 0, len(digits))


def looks_like_card_number(digits: str) -> bool:
    """Tell whether a brand issues numbers of this start and length, and Luhn holds."""
    return len(digits) in _issuer(digits[:_LONGEST_PREFIX])[1] and luhn_valid(digits)


def masked(number: str) -> str:
    """Return the first six, length − 10 asterisks, and the last four (contract 10).

    A number too short to hide anything that way is asterisks only.
    """
    if len(number) < _SHORTEST:
        return "*" * len(number)
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"


def _issuer(start: str) -> tuple[str | None, tuple[int, ...]]:
    for length in range(len(start), 0, -1):
        if start[:length] in _ISSUED:
            return _ISSUED[start[:length]]
    return _NOBODY


_ONCE = bytes.maketrans(b"0123456789", bytes(range(10)))
_TWICE = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))


def _luhn_sums(digits: str) -> tuple[list[int], list[int]]:
    """Return running sums with the even places doubled, and with the odd places doubled.

    With them Luhn of any part of a long run costs one subtraction.
    """
    once, twice = digits.encode().translate(_ONCE), digits.encode().translate(_TWICE)
    even, odd = bytearray(once), bytearray(once)
    even[0::2], odd[1::2] = twice[0::2], twice[1::2]
    return list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))


def _is_luhn(sums: tuple[list[int], list[int]], start: int, stop: int) -> bool:
    # Doubled is every second place before the last one: those of `stop`'s parity.
    running = sums[stop % 2]
    return (running[stop] - running[start]) % 10 == 0


# --- Numbers in free text ----------------------------------------------------------------------

_SEPARATORS = r"\s\x00-\x1f\x7f\-._/\\|+*~•"
# ASCII letters only: ids and hex are ASCII, while a script written without spaces puts a
# real card number directly behind its last letter.
_GROUP = r"\d++(?![A-Za-z])"
_ENOUGH = rf"\d(?:[{_SEPARATORS}]{{0,3}}+\d){{{_SHORTEST - 1}}}"
_MANY_DIGITS = re.compile(_ENOUGH, re.ASCII)
_RUN = re.compile(
    rf"(?<![A-Za-z\d])(?={_ENOUGH})"
    rf"{_GROUP}(?:[{_SEPARATORS}]{{1,3}}+{_GROUP})*+",
    re.ASCII,
)
_DIGITS = re.compile(r"\d+", re.ASCII)
_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
)


def contains_card_number(text: str) -> bool:
    """Tell whether free text holds a card number, however its digits are written.

    Whole digit groups only, joined over up to three separators; digits beside an
    ASCII letter are an id's. The time is linear in the text.
    """
    folded = _folded(text)
    if not _MANY_DIGITS.search(folded):
        return False
    return any(next(_hits(_DIGITS.findall(run)), None) for _start, run in _runs(folded))


def mask_card_numbers(text: str) -> str:
    """Return the text with each card number cut to its first six and last four."""
    if not contains_card_number(text):
        return text
    folded, origin = _folded_with_origin(text)
    parts, done = [], 0
    for run_start, run in _runs(folded):
        for start, end, mask in _masks(run):
            first, last = origin[run_start + start], origin[run_start + end - 1]
            parts += [text[done:first], mask]
            done = last + 1
    return "".join([*parts, text[done:]])


def _runs(folded: str) -> Iterator[tuple[int, str]]:
    """Yield where each chain of digit groups starts, and the chain."""
    if "-" in folded:
        folded = _UUID.sub(_uuid_as_letters, folded)
    for match in _RUN.finditer(folded):
        yield match.start(), match.group()


def _uuid_as_letters(uuid: re.Match[str]) -> str:
    # With a letter in it a UUID is no card, even where three groups in a row have none.
    return uuid[0] if uuid[0].replace("-", "").isdigit() else "x" * len(uuid[0])


def _masks(run: str) -> list[tuple[int, int, str]]:
    """Return the spans of the run to replace, and by what."""
    at = [place for place, char in enumerate(run) if char.isdigit()]
    hits = _merged(_hits(_DIGITS.findall(run)))
    spans = [(at[start], at[stop - 1] + 1) for start, stop in hits]
    found = [(start, end, _first6_last4(run[start:end])) for start, end in spans]
    # The digits left visible may read as a card number together with their neighbours.
    if found and contains_card_number(_replaced(run, found)):
        return [(0, len(run), _first6_last4(run))]
    return found


def _hits(groups: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last digit's place (half open) of each would-be card number.

    Places count the digits of all groups; per start the longest number comes.
    """
    digits = "".join(groups)
    bounds = list(accumulate(map(len, groups), initial=0))
    ends, sums = set(bounds), _luhn_sums(digits)
    for start in bounds:
        for length in _LENGTHS.get(digits[start : start + _LONGEST_PREFIX], ()):
            if start + length in ends and _is_luhn(sums, start, start + length):
                yield start, start + length
                break


# The lengths to try, longest first, by the four digits that a number starts with.
_LENGTHS = {
    start: tuple(sorted(_issuer(start)[1], reverse=True))
    for start in (f"{number:04}" for number in range(10_000))
    if _issuer(start)[1]
}


def _merged(hits: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that overlap: either of them may be the real number."""
    spans: list[tuple[int, int]] = []
    for start, end in hits:
        if spans and start < spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return spans


def _replaced(run: str, masks: list[tuple[int, int, str]]) -> str:
    parts, done = [], 0
    for start, end, mask in masks:
        parts += [run[done:start], mask]
        done = end
    return "".join([*parts, run[done:]])


def _first6_last4(run: str) -> str:
    # Always six asterisks: four or more keep the two ends from reading as one number.
    digits = "".join(_DIGITS.findall(run))
    return f"{digits[:6]}******{digits[-4:]}"


# --- Other scripts' digits, spaces and dashes --------------------------------------------------

_BLANK = "\x85\u115f\u1160\u2800\u3164\uffa0"
_DOTS = "·‧∙⋅・･"
_BY_CATEGORY = {
    "Cf": "", "Mn": "", "Me": "", "Zs": " ", "Zl": " ", "Zp": " ", "Pd": "-", "Pc": "_",
}  # fmt: skip
# Every block with digits, spaces, dashes or marks; not the large ones of Han, Hangul, Tangut and
# cuneiform, which would double the time to build the table.
_LOOKED_AT = [
    range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xD7B0, 0xD800), range(0xFB00, 0x12000),
    range(0x13430, 0x13460), range(0x16100, 0x17000), range(0x1BC00, 0x20000),
    range(0xE0000, 0xE0200),
]  # fmt: skip


def _folded(text: str) -> str:
    return text if text.isascii() else text.translate(_folds())


def _folded_with_origin(text: str) -> tuple[str, list[int] | range]:
    """Return the folded text, and for each of its characters the place it came from."""
    folded = _folded(text)
    if folded == text:
        return folded, range(len(text))
    folds = _folds()
    origin = [i for i, char in enumerate(text) for _ in folds.get(ord(char), char)]
    return folded, origin


@cache
def _folds() -> dict[int, str]:
    """Return what to read a character as: an ASCII digit, a separator, or nothing at all.

    A table, not `unicodedata.normalize` of the whole text: that one is quadratic in
    combining marks.
    """
    folds = {ord(char): " " for char in _BLANK} | {ord(char): "." for char in _DOTS}
    for code in (code for block in _LOOKED_AT for code in block):
        fold = _fold(chr(code))
        if fold is not None:
            folds.setdefault(code, fold)
    return folds


_ASCII_SEPARATOR = re.compile(rf"[{_SEPARATORS}]", re.ASCII)


def _fold(char: str) -> str | None:
    by_category = _BY_CATEGORY.get(unicodedata.category(char))
    if by_category is not None:
        return by_category
    plain = unicodedata.normalize("NFKC", char)
    if any(part.isdecimal() for part in plain):
        return "".join(str(unicodedata.decimal(part, part)) for part in plain)
    return plain if plain != char and _ASCII_SEPARATOR.fullmatch(plain) else None


# --- The card in the air -----------------------------------------------------------------------


class CardData:
    """A card as the payer typed it; it lives in memory for one request.

    It shows nothing of itself where values usually leak (text, tracebacks, logs) and
    refuses every way to be written down (pickle, copy, JSON). No dataclass: orjson
    would write one.
    """

    __slots__ = ("cvc", "exp_month", "exp_year", "holder_name", "number")
    # Not hashable, so that no cache or set keeps it; equality stays identity.
    __hash__ = None  # type: ignore[assignment]

    number: str
    exp_month: int
    exp_year: int
    cvc: str | None
    holder_name: str | None

    def __init__(
        self,
        number: str,
        exp_month: int,
        exp_year: int,
        cvc: str | None = None,
        holder_name: str | None = None,
    ) -> None:
        self.number = number
        self.exp_month = exp_month
        self.exp_year = exp_year
        self.cvc = cvc
        self.holder_name = holder_name

    @property
    def bin(self) -> str:
        return self.number[:6]

    @property
    def last4(self) -> str:
        return self.number[-4:]

    @property
    def masked(self) -> str:
        return masked(self.number)

    @property
    def brand(self) -> str | None:
        return brand_of(self.number)

    def without_cvc(self) -> "CardData":
        """Return the same card without its CVC."""
        return CardData(
            self.number, self.exp_month, self.exp_year, cvc=None, holder_name=self.holder_name
        )

    def __repr__(self) -> str:
        return "<CardData>"

    def __format__(self, _spec: str) -> str:
        return "<CardData>"

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError("CardData refuses to be copied or written down.")

    def __getstate__(self) -> Any:
        raise TypeError("CardData refuses to be copied or written down.")
