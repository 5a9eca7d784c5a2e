"""Card numbers in free text: found however they are written, and masked.

Digit groups count whole, and never next to a letter: those are ids. Other
things of many digits that people write are known by their form (`NO_CARDS`).
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from urllib.parse import unquote_to_bytes

from core.cards import (
    LONGEST_PREFIX,
    SHORTEST_NUMBER,
    is_luhn_part,
    lengths_issued,
    luhn_sums,
)
from core.lookalikes import NO_CARDS

_SEPARATORS = r" \x00-\x1f\x7f\-._/\\|+*~•"
# Neither letters nor digits. Not ASCII's alone: a letter of any script parts two numbers.
_ANYTHING = r"[\W_]"
_GAP = rf"{_ANYTHING}{{1,4}}+"
# ASCII letters only: ids and hex are ASCII, while a script written without spaces puts a
# real card number directly behind its last letter.
_GROUP = r"[0-9]++(?![A-Za-z])"
# One look tells of most texts that there is no number in them.
_MANY_DIGITS = re.compile(
    rf"[0-9](?:(?:[{_SEPARATORS}]{{0,3}}+[0-9]){{{SHORTEST_NUMBER - 1}}}"
    rf"|[0-9]{{3}}{_GAP}(?:[0-9]{{4}}{_GAP}[0-9]{{4}}|[0-9]{{6}}){_GAP}[0-9]{{4}})"
)
_RUN = re.compile(
    rf"(?<![A-Za-z0-9])(?=[0-9](?:{_ANYTHING}{{0,4}}+[0-9]){{{SHORTEST_NUMBER - 1}}})"
    rf"{_GROUP}(?:{_GAP}{_GROUP})*+"
)
_DIGITS = re.compile(r"[0-9]+")
# Characters that join the digits of any grouping. A card's own (`_PATTERNS`) is known over any gap.
_JOINT = re.compile(rf"[{_SEPARATORS}]{{1,3}}")
_PATTERNS = ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
_ENDS = ([1], [2], [3])  # After 4-4-4-4, of a number of 17 to 19 digits.
# The mark before the card number on a magnetic stripe's first track.
_TRACK_START = re.compile(r"[Bb](?=\d{12,19}\^)", re.ASCII)
ENCODINGS = 4  # How often what is in an address may have been percent-encoded.


def contains_encoded_card_number(text: str, *, decoded: int = 0) -> bool:
    """Return whether a text holds a card number as it is, or percent-decoded again and again.

    :param decoded: how often it has been already.
    """
    while not contains_card_number(text):
        if decoded == ENCODINGS or "%" not in text:
            return False
        encoded, text = text, unquote_to_bytes(text).decode("utf-8", "replace")
        if text == encoded:
            return False
        decoded += 1
    return True


def contains_card_number(text: str) -> bool:
    """Return whether free text holds a card number, however its digits are written.

    Whole digit groups only, joined over up to three separators, or grouped as cards are
    over up to four characters of any kind; digits beside an ASCII letter are an id's. The
    time is linear in the text.
    """
    if len(text) < SHORTEST_NUMBER and text.isascii():
        return False
    folded = text if text.isascii() else text.translate(_folds())
    if not _MANY_DIGITS.search(folded):
        return False
    return any(next(_hits(run), None) for _start, run in _runs(folded))


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
    folded = _TRACK_START.sub("%", folded)
    for form, blank in NO_CARDS:
        folded = form.sub(blank, folded)
    for match in _RUN.finditer(folded):
        yield match.start(), match.group()


def _masks(run: str) -> list[tuple[int, int, str]]:
    at = [place for place, char in enumerate(run) if char.isdigit()]
    hits = _merged(_hits(run))
    spans = [(at[start], at[stop - 1] + 1) for start, stop in hits]
    found = [(start, end, _first6_last4(run[start:end])) for start, end in spans]
    # The digits left visible may read as a card number together with their neighbours.
    if found and contains_card_number(_replaced(run, found)):
        return [(0, len(run), _first6_last4(run))]
    return found


def _hits(run: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last digit's place (half open) of each would-be card number.

    Places count the digits of all groups; per start the longest number comes.
    """
    groups = _DIGITS.findall(run)
    digits = "".join(groups)
    bounds = list(accumulate(map(len, groups), initial=0))
    ends, sums = set(bounds), luhn_sums(digits)
    gaps: list[str] = []
    for group, start in enumerate(bounds):
        for length in _LENGTHS.get(digits[start : start + LONGEST_PREFIX], ()):
            stop = start + length
            if stop in ends and is_luhn_part(sums, start, stop):
                # Most runs never come here, and need not be taken apart again.
                gaps = gaps or _DIGITS.split(run)
                part = slice(group, bisect_left(bounds, stop))
                if _is_grouped_as_a_card(groups[part]) or _is_joined(gaps[part][1:]):
                    yield start, stop
                    break


def _is_grouped_as_a_card(groups: list[str]) -> bool:
    sizes = [len(group) for group in groups]
    return sizes in _PATTERNS or (sizes[:4] == _PATTERNS[0] and sizes[4:] in _ENDS)


def _is_joined(gaps: list[str]) -> bool:
    return all(map(_JOINT.fullmatch, gaps))


# The lengths to try, longest first, by the four digits that a number starts with.
_LENGTHS = {
    start: tuple(sorted(lengths_issued(start), reverse=True))
    for start in (f"{number:04}" for number in range(10_000))
    if lengths_issued(start)
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

# The last one stands for bytes that are no UTF-8: another encoding's no-break space, for one.
_BLANK = "\x85\u115f\u1160\u2800\u3164\uffa0\ufffd"
_DOTS = "·‧∙⋅・･"
_DASHES = "\u2212\u02d7\u2043\u207b\u208b\u2796\u30fc"
# Characters that show nothing, although Unicode has no category for that.
_NOTHING = "\u2065\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8\ufffc"
_BY_CATEGORY = {
    "Cf": "", "Mn": "", "Me": "", "Cc": " ", "Zs": " ", "Zl": " ", "Zp": " ", "Pd": "-", "Pc": "_",
}  # fmt: skip
# Every block with digits, spaces, dashes or marks; not the large ones of Han, Hangul, Tangut and
# cuneiform, which would double the time to build the table.
_LOOKED_AT = [
    range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xD7B0, 0xD800), range(0xFB00, 0x12000),
    range(0x13430, 0x13460), range(0x16100, 0x17000), range(0x1BC00, 0x20000),
    range(0xE0000, 0xE0200),
]  # fmt: skip


def _folded_with_origin(text: str) -> tuple[str, list[int] | range]:
    """Return the folded text, and for each of its characters the place it came from."""
    folds = _folds()
    folded = text.translate(folds)
    if folded == text:
        return folded, range(len(text))
    origin = [i for i, char in enumerate(text) for _ in folds.get(ord(char), char)]
    return folded, origin


@cache
def _folds() -> dict[int, str]:
    """Return what to read a character as: an ASCII digit, a separator, or nothing at all.

    A table, not `unicodedata.normalize` of the whole text: that one is quadratic in
    combining marks.
    """
    alike = {" ": _BLANK, ".": _DOTS, "-": _DASHES, "": _NOTHING}
    folds = {ord(char): plain for plain, chars in alike.items() for char in chars}
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
    digit = unicodedata.digit(char, None)  # Of circled ones, too.
    if digit is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKC", char)
    if any(part.isdecimal() for part in plain):
        return "".join(str(unicodedata.decimal(part, part)) for part in plain)
    return plain if plain != char and _ASCII_SEPARATOR.fullmatch(plain) else None
