"""The one scrubber: what logs, request logs, excerpts and mails may show.

It never raises, because a scrubber that raises loses the line it was asked to clean:
only exact types are taken apart, everything else goes through a repr that cannot fail.
No Django here: the settings import the log formatter, which imports this.
"""

import enum
import re
import reprlib
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from core import names
from core.cards import looks_like_card_number
from core.detection import mask_card_numbers
from core.secrets_in_text import MAX_CHARACTERS, REDACTED, hide_secrets

MAX_DEPTH = 12
SHORTEST_CODE = 3
# No card number is smaller: it has 13 digits or more.
SMALLEST_NUMBER = 10**12
HUGE = 10**400  # A float has at most 309 digits.

_METHOD, _PAYERS = "paymentmethoddata", "billingdetails"
_CARD = re.compile(r"(?:credit|debit|payment|bank)?cards?(?:data|details|info)?")
# A card object may show these although they have digits; a code has no mark but its three digits.
_CARD_FACTS = {
    "bin": re.compile(r"\d{6,8}", re.ASCII),
    "last4": re.compile(r"\d{4}", re.ASCII),
    "masked": re.compile(r"\d{6}\*{3,9}\d{4}", re.ASCII),
    "exp_month": re.compile(r"0?[1-9]|1[0-2]"),
    "exp_year": re.compile(r"20\d\d", re.ASCII),
}
_DIGIT = re.compile(r"\d")
_PLAIN = frozenset({str, int, float, bool, type(None)})
_PRINTABLE_TYPES = (date, datetime, time, timedelta, Decimal, UUID)


class _Place(enum.Enum):
    """The place of a value in a log record: it decides which values may be shown."""

    ANYWHERE = enum.auto()
    METHOD = enum.auto()  # Directly in payment_method_data: the payer's details are apart from it.
    CARD = enum.auto()  # No digits but those of _CARD_FACTS.


def scrub(value: Any, *, name: str | None = None) -> Any:
    """Return the value as it may be shown: JSON-like, of bounded depth and length.

    :param name: the value's name; a secret name hides any value. Objects
        that hold a card are looked into: nothing with digits is left there but the facts
        that the API shows.
    """
    return _scrub(value, name, _NAMELESS if name is None else _reading(name), (), _Place.ANYWHERE)


class _Name(NamedTuple):
    """A value's name, read once: how much of the value may be shown under it.

    :param hides: the name is a secret's, so nothing of any value is shown.
    :param place: where the value stands, unless something around it is more exact.
    :param is_open: the name alone hides nothing of a plain value.
    """

    plain: str
    hides: bool
    place: _Place
    is_open: bool = True
    shown: str = ""


def _scrub(
    value: Any, name: str | None, reading: _Name, path: tuple[int, ...], around: _Place
) -> Any:
    plain, hides, place, _is_open, _shown = reading
    if plain == "card" and not _is_a(value, dict):
        return REDACTED
    if hides:
        return value if around is _Place.CARD and _is_masked_number(value) else REDACTED
    if around is not _Place.ANYWHERE:
        place = _place_within(plain, around)
    if type(value) not in _PLAIN and _is_a(value, dict, list, tuple, set, frozenset):
        return _container(value, path, place)
    shown = _scalar(value)
    is_hidden = place is not _Place.ANYWHERE and _may_be_a_code(name, shown)
    return REDACTED if is_hidden else shown


_NAMELESS = _Name("", hides=False, place=_Place.ANYWHERE)


@names.remembered
def _reading(name: str) -> _Name:
    outer, *inner = (names.plain(part) for part in names.parts(name))
    is_method = outer == _METHOD and inner[:1] != [_PAYERS]
    is_of_a_card = inner and (is_method or any(map(_CARD.fullmatch, [outer, *inner])))
    plain, hides = names.plain(name), bool(is_of_a_card) or names.is_secret(name)
    place = _place(plain)
    is_open = not hides and place is _Place.ANYWHERE
    return _Name(plain, hides, place, is_open, hide_secrets(name))


def _place(plain: str) -> _Place:
    if plain == _METHOD:
        return _Place.METHOD
    return _Place.CARD if _CARD.fullmatch(plain) else _Place.ANYWHERE


def _place_within(plain: str, around: _Place) -> _Place:
    if plain == _METHOD:
        return _Place.METHOD
    is_payers = around is _Place.METHOD and plain == _PAYERS
    return _Place.ANYWHERE if is_payers else _Place.CARD


def _is_masked_number(value: Any) -> bool:
    return _is_a(value, str) and bool(_CARD_FACTS["masked"].fullmatch(value))


def _may_be_a_code(name: str | None, shown: Any) -> bool:
    if _is_a(shown, bool) or not _DIGIT.search(str(shown)):
        return False
    fact = _CARD_FACTS.get(name or "")
    return fact is None or not fact.fullmatch(str(shown))


def _is_a(value: Any, *kinds: type) -> bool:
    # By type(): isinstance() believes __class__, and so would evaluate a lazy object.
    return issubclass(type(value), kinds)


def _container(value: Any, path: tuple[int, ...], place: _Place) -> Any:
    if len(path) >= MAX_DEPTH or id(value) in path:
        return "[…]"
    path = (*path, id(value))
    # The base type's own iteration: a subclass's (QueryDict) may drop values, or raise.
    if _is_a(value, dict):
        return _mapping(list(dict.items(value)), path, place)
    kind = next(kind for kind in (list, tuple, set, frozenset) if _is_a(value, kind))
    scrubbed = [_scrub(item, None, _NAMELESS, path, place) for item in list(kind.__iter__(value))]
    return tuple(scrubbed) if kind is tuple else scrubbed


def _mapping(items: list[tuple[Any, Any]], path: tuple[int, ...], place: _Place) -> Any:
    scrubbed = {}
    for key, item in items:
        name = key if type(key) is str else _as_text(key) if _is_a(key, str, bytes) else None
        reading = _NAMELESS if name is None else _reading(name)
        shown = reading.shown if type(key) is str else _scalar(key)
        if place is not _Place.ANYWHERE and len(_DIGIT.findall(str(shown))) >= SHORTEST_CODE:
            shown = REDACTED
        if reading.is_open and place is _Place.ANYWHERE and type(item) in _PLAIN:
            # Most values of an answer; `_scrub` would come to the same after more questions.
            scrubbed[shown] = _scalar(item)
        else:
            scrubbed[shown] = _scrub(item, name, reading, path, place)
    return scrubbed


def _scalar(value: Any) -> Any:
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return hide_secrets(value)
    if type(value) is int and -SMALLEST_NUMBER < value < SMALLEST_NUMBER:
        return value
    return _number(value) if _is_a(value, int, float) else hide_secrets(_as_text(value))


def _number(value: float) -> int | float | str:
    # A card number has at most 19 digits; str() of a huge int raises, here and where it is written.
    if _is_a(value, int) and abs(value) >= HUGE:
        return "[…]"
    if not SMALLEST_NUMBER <= abs(value) < 10**19 or value != int(value):
        return value
    digits = str(abs(int(value)))
    return mask_card_numbers(digits) if looks_like_card_number(digits) else value


def _as_text(value: Any) -> str:
    if _is_a(value, str):
        return str.__str__(value)
    if _is_a(value, bytes, bytearray):
        return bytes(value[: MAX_CHARACTERS * 4]).decode("utf-8", "replace")
    if type(value) in _PRINTABLE_TYPES:
        return str(value)
    # reprlib catches what a broken __repr__ raises, and says what it was.
    return _REPR.repr_instance(value, 1)


_REPR = reprlib.Repr()
_REPR.maxother = MAX_CHARACTERS * 4
