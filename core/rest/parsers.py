"""Reading a body strictly, JSON or a form: what cannot mean one thing only is refused."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from rest_framework.parsers import BaseParser

from core import context, names
from core.detection import contains_card_number, contains_encoded_card_number
from core.errors import (
    BodyInvalid,
    BodyTooLarge,
    CardDataNotAllowed,
    ParameterInvalid,
    UnsupportedMediaType,
)
from core.rest import brackets
from core.rest.brackets import (
    MAX_DEPTH,
    MAX_PARAMETERS,
    Path,
    TooManyParameters,
    Written,
    bracketed,
    shown_name,
)

CARD_PATH = ("payment_method_data", "card")
NUMBER_PATH = (*CARD_PATH, "number")
MAX_NUMBER_DIGITS = 100
CHARSET = re.compile(r"""charset=["']?([^"';\s]*)""")
UTF_8 = ("utf-8", "utf8")
NO_JSON_AT_ALL = "A form needs Content-Type: application/x-www-form-urlencoded."
BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class CardInput:
    """The card as the client sent it, unvalidated; shows nothing of itself.

    Only the form that validates it reads `fields`.
    """

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __repr__(self) -> str:
        return "<CardInput>"

    def __reduce__(self) -> Any:
        raise TypeError("A card is not pickled.")


class StrictParser(BaseParser):
    """Parse a body; lift the card out before anything else sees it."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Any = None
    ) -> dict[str, Any]:
        _refuse_encodings(stream, media_type or "")
        body = self.load(_read(stream, settings.BODY_MAX_BYTES))
        if work := context.current():
            work.body = body  # For the request log, also when it is refused below.
        _lift_card(body)
        _inspect(body, ())
        return body

    def load(self, raw: bytes) -> dict[str, Any]:
        """Return the object that the bytes spell.

        :raises DomainError: they spell none, or more than one.
        """
        raise NotImplementedError


class StrictJSONParser(StrictParser):
    """Parse `application/json`."""

    media_type = "application/json"

    def load(self, raw: bytes) -> dict[str, Any]:
        return _load_json(raw)


class StrictFormParser(StrictParser):
    """Parse `application/x-www-form-urlencoded` in bracket notation (contract 12).

    `x=` is null, as JSON would say it; every other value is `Written`.
    """

    media_type = "application/x-www-form-urlencoded"

    def load(self, raw: bytes) -> dict[str, Any]:
        return brackets.nested(_form_pairs(raw))


def page_form(request: Any, *, bytes_max: int) -> dict[str, str]:
    """Return the fields of a page's form by their names, as strictly read as a body of the API.

    For a form with a card in it: Django would keep all of it with the request. The caller lifts the
    card out.

    :raises DomainError: it is no form of a page, too large, not UTF-8, or names a field twice.
    """
    media_type = request.META.get("CONTENT_TYPE", "").lower()
    if media_type.partition(";")[0].strip() != StrictFormParser.media_type:
        raise UnsupportedMediaType
    _refuse_encodings(request, media_type)
    fields: dict[str, str] = {}
    for name, value in _form_pairs(_read(request, bytes_max)):
        if name in fields:
            raise BodyInvalid("The form names a field twice.")
        fields[name] = value or ""
    return fields


def _refuse_encodings(stream: Any, media_type: str) -> None:
    encoding = stream.META.get("HTTP_CONTENT_ENCODING", "identity")
    charset = CHARSET.search(media_type.lower())
    if encoding.lower() != "identity" or (charset and charset[1] not in UTF_8):
        raise UnsupportedMediaType("Send the body as plain UTF-8.")


def _read(stream: Any, limit: int) -> bytes:
    declared = int(stream.META.get("CONTENT_LENGTH") or 0)
    if declared > limit:
        raise BodyTooLarge(f"The body may have up to {limit} bytes.")
    raw = stream.read(limit)
    if len(raw) != declared:
        raise BodyInvalid("The body ended early.")
    return raw


# --- JSON -------------------------------------------------------------------------------------


def _load_json(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_decimal,
        )
    except UnicodeDecodeError:
        raise BodyInvalid("The body is not UTF-8 text.") from None
    except json.JSONDecodeError as problem:
        # Where, and not what: the cause carries the text of the body, and its message may too.
        place = f"It breaks off in line {problem.lineno}, column {problem.colno}."
        raise BodyInvalid(advice=place if problem.pos else NO_JSON_AT_ALL) from None
    except RecursionError:
        raise BodyInvalid("The body is nested too deeply.") from None
    if not isinstance(body, dict):
        raise BodyInvalid("The body must be a JSON object.")
    return body


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BodyInvalid("The body names a key twice.")
    return found


def _refuse_constant(_name: str) -> Any:
    raise BodyInvalid("NaN and Infinity are not JSON.")


def _integer(literal: str) -> int:
    _refuse_long(literal)
    return int(literal)


def _decimal(literal: str) -> float:
    _refuse_long(literal)
    return float(literal)


def _refuse_long(literal: str) -> None:
    if len(literal) > MAX_NUMBER_DIGITS:
        raise BodyInvalid("A number has too many digits.")


# --- Forms ------------------------------------------------------------------------------------


def _form_pairs(raw: bytes) -> Iterator[tuple[str, Written | None]]:
    """Yield the names and values of a form's body."""
    for place, pair in enumerate(filter(None, raw.split(b"&"))):
        raw_name, equals, raw_value = pair.partition(b"=")
        if not equals:
            _refuse_no_pair()
        name, value = _form_pair(raw_name, raw_value)
        if place == MAX_PARAMETERS:
            raise TooManyParameters(param=shown_name(name))
        yield name, value


def _form_pair(raw_name: bytes, raw_value: bytes) -> tuple[str, Written | None]:
    if _unquoted(raw_name).lstrip()[:1] in (b"{", b"[", b'"'):
        _refuse_no_pair()
    name, value = _form_text(raw_name), _form_text(raw_value)
    if name is None or value is None:
        param = shown_name(_unquoted(raw_name).decode("utf-8", "replace"))
        raise BodyInvalid("A name or a value is not percent-encoded UTF-8 text.", param=param)
    return name, Written(value) if value else None


def _refuse_no_pair() -> Any:
    # Without a param: this may be a whole JSON body, with a card's security code in it.
    raise BodyInvalid("The body is no form: send JSON with Content-Type: application/json.")


def _form_text(raw: bytes) -> str | None:
    """Return the text that is percent-encoded, or None if it is not one text for sure."""
    if BROKEN_ESCAPE.search(raw):
        return None
    try:
        text = _unquoted(raw).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _unquoted(raw: bytes) -> bytes:
    return unquote_to_bytes(raw.replace(b"+", b" "))


# --- Cards and texts --------------------------------------------------------------------------


def _lift_card(body: dict[str, Any]) -> None:
    method = body.get("payment_method_data")
    if isinstance(method, dict) and isinstance(method.get("card"), dict):
        card = method["card"]
        number = card.pop("number", None)
        # Before anything is refused: what is refused is shown too, and no card in it.
        method["card"] = CardInput(card)
        _inspect(card, CARD_PATH)
        if number is not None:
            card["number"] = number
            _inspect_number(number)


def _inspect_number(number: Any) -> None:
    if not isinstance(number, str):
        raise ParameterInvalid("Must be a string.", param=bracketed(NUMBER_PATH))
    _refuse_no_text(number, NUMBER_PATH)


def _inspect(value: Any, path: Path) -> None:
    """Walk the body once: depth, text that no database can keep, card numbers and codes."""
    if len(path) > MAX_DEPTH:
        raise BodyInvalid("The body is nested too deeply.")
    if isinstance(value, dict):
        for name, inner in value.items():
            _inspect_text(name, (*path, name))
            if names.is_security_code(name):
                _refuse_security_code(inner, path, name)
            _inspect(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _inspect(inner, (*path, index))
    elif isinstance(value, str):
        _inspect_text(value, path)
    elif isinstance(value, int | float) and contains_card_number(str(value)):
        raise CardDataNotAllowed(param=shown_name(bracketed(path)))


def _refuse_security_code(value: Any, path: Path, name: str) -> None:
    # By its name alone: told by the value too, 12 would pass in a test and 123 fail in a shop.
    # The card's own form says which names it does not know, and nothing of it is kept.
    is_given = value is not None and value != ""
    if is_given and path != CARD_PATH:
        raise CardDataNotAllowed(param=shown_name(bracketed((*path, name))))


def _inspect_text(text: str, path: Path) -> None:
    _refuse_no_text(text, path)
    # Any text may be an address, or hold one.
    if contains_encoded_card_number(text):
        raise CardDataNotAllowed(param=shown_name(bracketed(path)))


def _refuse_no_text(text: str, path: Path) -> None:
    if "\x00" in text or not _is_utf8(text):
        message = "The body holds a character that is not text."
        raise BodyInvalid(message, param=shown_name(bracketed(path)))


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
