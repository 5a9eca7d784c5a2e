"""Card numbers and codes of tests, and the search for them in all that was written anywhere."""

import base64
import hashlib
import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from config.logs import LineHandler, logging_config
from tests.stage.books import every_row, everything_cached

APPROVED, DECLINED, PENDING = "5526080000000006", "4000000000009995", "4000001100000033"
SILENT, HELD, DEBIT = "4000001100000017", "5400010000000004", "4766620000000001"
GARBLED, CRASHED, NOT_SEALED = "4100000000000019", "4111111111111111", "9792030000000000"
NOT_LISTED, MISTYPED = "4929111111111113", "4242424242424241"
NUMBERS = (
    APPROVED, DECLINED, PENDING, SILENT, HELD, DEBIT, GARBLED, CRASHED, NOT_SEALED,
    NOT_LISTED, MISTYPED,
)  # fmt: skip
CVC = "937"
WRONG_CVC = "937937"


@dataclass
class Written:
    """Everything that the service wrote, by the place where it lies."""

    rows: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)

    def leaks(self, *secrets: str) -> list[str]:
        """Return what shows a card's number, a CVC, or one of the secrets."""
        wanted = re.compile("|".join([LEAK.pattern, *(s for x in secrets for s in _spellings(x))]))
        return [f"{place}: {text[:200]}" for place, text in self.texts() if wanted.search(text)]

    def texts(self) -> Iterator[tuple[str, str]]:
        for place in ("rows", "lines", "answers", "cached"):
            for text in getattr(self, place):
                yield place, _with_bytes_shown(text)


def _spellings(number: str) -> Iterator[str]:
    """Yield the ways a number may be written down, as patterns."""
    raw = number.encode()
    yield r"[^0-9A-Za-z]{0,3}".join(map(re.escape, number))
    yield re.escape(number[::-1])
    yield raw.hex()
    yield from _base64(raw)
    yield from _base64(raw[::-1])
    for name in ("md5", "sha1", "sha256", "sha512"):
        digest = hashlib.new(name, raw, usedforsecurity=False)
        yield digest.hexdigest()
        yield re.escape(base64.b64encode(digest.digest()).decode().rstrip("="))


def _base64(raw: bytes) -> Iterator[str]:
    """Yield what is surely part of the base64 of any text that holds the bytes."""
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + raw).decode()
        first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        yield re.escape(encoded[first:last])


# A code of three digits is looked for where it stands alone, and is no line's number, no
# request's duration and no row's number: a long run counts past 937.
_NUMBERED = r"(?<!line )(?<!duration_ms\": )(?<!id\": )"
_ALONE = rf"(?<![0-9A-Za-z.]){_NUMBERED}(?:{CVC}|{WRONG_CVC})(?![0-9A-Za-z.])"
LEAK = re.compile(
    "|".join([_ALONE, *(spelling for number in NUMBERS for spelling in _spellings(number))])
)


def _with_bytes_shown(text: str) -> str:
    shown = [bytes.fromhex(found).decode("latin-1") for found in _BYTEA.findall(text)]
    return "\n".join([text, unquote_plus(text), *shown])


# As a JSON's key, however often escaped, as a form's, or as a name in Redis.
NAMED_CVC = re.compile(r"""(?i)\b(?:cvc|cvv)2?\\*["']\s*:|\b(?:cvc|cvv)2?(?:%5D|\])?=|^cvc:""")
_BYTEA = re.compile(r"\\x((?:[0-9a-f]{2})+)")


@contextmanager
def every_line() -> Iterator[io.StringIO]:
    """Yield the text of all log lines from DEBUG on, written by the formatter of production."""
    options = logging_config(level="DEBUG")["formatters"]["json"]
    handler = LineHandler(io.StringIO())
    handler.setFormatter(options.pop("()")(**options))
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel("DEBUG")
    yield handler.stream
    root.setLevel(level)
    root.removeHandler(handler)


def stored() -> dict[str, list[str]]:
    """Return each row of both databases, and all that Redis has."""
    rows = [row for alias in ("default", "bank") for row in every_row(alias)]
    return {"rows": rows, "cached": list(everything_cached())}
