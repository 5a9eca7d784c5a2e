"""Texts that no spreadsheet takes for a formula, wherever it cuts them into cells.

Source of the rule: panel contract, Exports. A file with commas may be read as one with semicolons
or tabs, and then a cell begins in the middle of a text.
"""

import re
from typing import Any

import orjson

# Of two widths: spreadsheets in East Asia take both.
_BEGINS = "=+\\-@＝＋－＠\t\r"
# A spreadsheet cuts here: at the separators that it may be told of, and at line breaks.
_CUTS = ";,\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
# Blanks, and what nobody sees: it may be dropped before the cell is looked at, as quotes are.
_NOT_COUNTED = (
    '"\x00-\x08\x0e-\x1b\x1f\x20\x7f-\x84\x86-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890'
    "\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202a-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_MAY_BEGIN = re.compile(f"[{_BEGINS}]")
_BEFORE = re.compile(f"(?:^|[{_CUTS}])[{_NOT_COUNTED}]*(?=[{_BEGINS}])")
_BEFORE_AND_SIGN = re.compile(f"((?:^|[{_CUTS}])[{_NOT_COUNTED}]*)([{_BEGINS}])")
_STRING_OF_JSON = re.compile(r'"((?:[^"\\]|\\.)*)"')


def plain(text: str) -> str:
    """Return a text with a `'` before each sign that would begin a formula."""
    return _BEFORE.sub(r"\g<0>'", text) if _MAY_BEGIN.search(text) else text


def plain_json(value: Any) -> str:
    """Return a value as JSON, in which such signs are written as `\\u003d`: it reads as it was.

    Numbers stay.
    """
    text = orjson.dumps(value).decode()
    return _STRING_OF_JSON.sub(_escaped, text) if _MAY_BEGIN.search(text) else text


def _escaped(string: re.Match[str]) -> str:
    inner = _BEFORE_AND_SIGN.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", string[1])
    return f'"{inner}"'
