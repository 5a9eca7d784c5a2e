"""Requests and answers with their secrets taken out, as the request log shows them.

Everything passes `core.scrub`. On top of that, a card that was given as one is shown
masked, and whatever is named as a security code is left out, its name too.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from core.cards import looks_like_card_number, masked
from core.names import may_be_security_code
from core.rest.parsers import CardInput
from core.scrub import MAX_DEPTH, scrub
from core.secrets_in_text import REDACTED

MAX_BYTES = 16 * 1024
_CARD_SHOWN = ("exp_month", "exp_year", "holder_name")


def body_text(body: Any) -> tuple[str, bool]:
    """Return a parsed body as the JSON text that may be shown, and whether some is missing.

    The text has up to 16 KiB as UTF-8. Beyond the first 16 KiB nothing is looked at, so
    that the longest body costs no more time than that.
    """
    excerpt = _Excerpt()
    shown = scrub(excerpt.of(body))
    raw = _json(shown)
    # Card numbers are masked by now, so that no cut leaves half of one.
    return raw[:MAX_BYTES].decode("utf-8", "ignore"), excerpt.is_cut or len(raw) > MAX_BYTES


def _json(shown: Any) -> bytes:
    try:
        return orjson.dumps(shown)
    except TypeError:  # Among others a number of more than 64 bits, or half a pair of UTF-16.
        whole = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        return whole.encode("utf-8", "replace")


def query_text(query: str) -> str | None:
    """Return a query string as it may be shown: as it was sent, if nothing in it is hidden."""
    query = _as_utf8(query)
    sent = parse_qsl(query, keep_blank_values=True, errors="replace")
    shown = [(scrub(n), scrub(v, name=n)) for n, v in sent if not may_be_security_code(n)]
    return line(query if shown == sent else urlencode(shown, safe="[]*")) or None


def header_text(value: str, *, most: int) -> str:
    """Return a header's value as it may be shown, cut to a length."""
    return line(_as_utf8(value), most=most)


def line(text: str, *, most: int | None = None) -> str:
    """Return a text from outside, such as a path, as it may be shown and stored."""
    clean = scrub(text).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    return clean[:most]


def _as_utf8(wire: str) -> str:
    # WSGI hands bytes on as Latin-1; other scripts' digits would not be known by it.
    return wire.encode("latin-1", "replace").decode("utf-8", "replace")


class _Excerpt:
    """Copies the beginning of a body: cards made safe, security codes left out.

    It counts the characters that a value takes in the text, quotes and commas included, and never
    too many: so it ends behind the cut, and a few values behind it at most.
    """

    def __init__(self) -> None:
        self._left = MAX_BYTES
        self.is_cut = False

    def of(self, value: Any, depth: int = 0) -> Any:
        # Most of a body is plain values: they are asked for first.
        if isinstance(value, str):
            # Texts stay whole: half a card number would not be recognised as one.
            self._left -= len(value) + len('""')
            return value
        if isinstance(value, CardInput):
            value = _safe_card(value)
        if isinstance(value, dict):
            return "[…]" if depth > MAX_DEPTH else self._of_dict(value, depth + 1)
        if isinstance(value, list):
            return "[…]" if depth > MAX_DEPTH else self._of_list(value, depth + 1)
        self._left -= len("null") if value is None or isinstance(value, bool) else 1
        return value

    def _of_list(self, values: list[Any], depth: int) -> list[Any]:
        copied = []
        for value in values:
            if not self._has_room(len(",")):
                break
            copied.append(self.of(value, depth))
        return copied

    def _of_dict(self, values: dict[str, Any], depth: int) -> dict[str, Any]:
        copied = {}
        for name, value in values.items():
            if may_be_security_code(name):
                continue
            if not self._has_room(len(name) + len('"":,')):
                break
            copied[name] = self.of(value, depth)
        return copied

    def _has_room(self, taken: int) -> bool:
        """Take the room of a name and a comma, unless the text is longer already than is kept."""
        if self._left < 0:
            self.is_cut = True
            return False
        self._left -= taken
        return True


def _safe_card(card: CardInput) -> dict[str, Any]:
    shown = {
        name: value if name in _CARD_SHOWN else REDACTED for name, value in card.fields.items()
    }
    if "number" in shown:
        shown["number"] = _masked(card.fields["number"])
    return shown


def _masked(number: Any) -> str:
    digits = re.sub(r"[ -]", "", number) if isinstance(number, str) else ""
    return masked(digits) if looks_like_card_number(digits) else REDACTED
