"""The one scrubber: what logs, request logs, excerpts and mails may show.

It never raises, because a scrubber that raises loses the line it was asked to clean:
only exact types are taken apart, everything else goes through a repr that cannot fail.
No Django here: the settings import the log formatter, which imports this.
"""

import re
import reprlib
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote_to_bytes
from uuid import UUID

from core.cards import SHORTEST_NUMBER, looks_like_card_number
from core.detection import contains_card_number, mask_card_numbers

REDACTED = "[redacted]"
MAX_DEPTH = 12
MAX_CHARACTERS = 64 * 1024

# Names compare in lower case, with _ for -, without a leading http_ (request.META), and each
# part of `payment_method_data[card][cvc]` for itself. A bare `token` may be anything, so it
# is hidden; a name such as `vault_token` says that it is an id, so it is shown.
# `idempotency_key` is shown: people look requests up by it.
SECRET_NAMES = frozenset({
    "number", "card", "card_number", "pan", "cvc", "cvv", "cvc2", "cvv2", "csc",
    "secret", "client_secret", "signing_secret", "secret_key", "private_key", "api_key",
    "password", "passphrase", "new_password", "old_password", "password1", "password2",
    "token", "access_token", "refresh_token", "id_token", "csrf_token", "csrftoken",
    "csrfmiddlewaretoken", "x_csrftoken", "authorization", "proxy_authorization",
    "cookie", "cookies", "set_cookie", "sessionid", "pf_signature",
})  # fmt: skip
# What a card object may show although it has digits; a code of three digits has no other mark.
_CARD_FACTS = frozenset({"bin", "last4", "masked", "exp_month", "exp_year"})
_MASKED_NUMBER = re.compile(r"\d{6}\*{3,9}\d{4}", re.ASCII)
_DIGIT = re.compile(r"\d")
_PLAIN = frozenset({str, int, float, bool, type(None)})
_PRINTABLE_TYPES = (date, datetime, time, timedelta, Decimal, UUID)


def scrub(value: Any, *, name: str | None = None) -> Any:
    """Return the value as it may be shown: JSON-like, of bounded depth and length.

    :param name: what the value is called; secret names hide it whatever it is. Only an
        object named `card` is looked into: nothing with digits is left there but the
        facts that the API shows.
    """
    return _scrub(value, name, path=(), in_card=False)


def _scrub(value: Any, name: str | None, path: tuple[int, ...], in_card: bool) -> Any:
    if name == "card" and _is_a(value, dict):
        return _container(value, path, in_card=True)
    if name is not None and _is_secret(name):
        return value if in_card and _is_masked_number(value) else REDACTED
    if type(value) not in _PLAIN and _is_a(value, dict, list, tuple, set, frozenset):
        return _container(value, path, in_card)
    scrubbed = _scalar(value)
    return REDACTED if in_card and _may_be_a_code(name, scrubbed) else scrubbed


def _is_masked_number(value: Any) -> bool:
    return _is_a(value, str) and bool(_MASKED_NUMBER.fullmatch(value))


def _may_be_a_code(name: str | None, shown: Any) -> bool:
    return name not in _CARD_FACTS and not _is_a(shown, bool) and bool(_DIGIT.search(str(shown)))


def _is_a(value: Any, *kinds: type) -> bool:
    # By type(): isinstance() believes __class__, and so would evaluate a lazy object.
    return issubclass(type(value), kinds)


def _container(value: Any, path: tuple[int, ...], in_card: bool) -> Any:
    if len(path) >= MAX_DEPTH or id(value) in path:
        return "[…]"
    path = (*path, id(value))
    # The base type's own iteration: a subclass's (QueryDict) may drop values, or raise.
    if _is_a(value, dict):
        items = list(dict.items(value))
        return {_scalar(key): _scrub(item, _name(key), path, in_card) for key, item in items}
    kind = next(kind for kind in (list, tuple, set, frozenset) if _is_a(value, kind))
    scrubbed = [_scrub(item, None, path, in_card) for item in list(kind.__iter__(value))]
    return tuple(scrubbed) if kind is tuple else scrubbed


def _name(key: Any) -> str | None:
    return _as_text(key) if _is_a(key, str, bytes) else None


def _scalar(value: Any) -> Any:
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _text(value)
    return _number(value) if _is_a(value, int, float) else _text(_as_text(value))


def _is_secret(name: str) -> bool:
    plain = name[:200].lower().replace("-", "_").removeprefix("http_")
    if plain in SECRET_NAMES or plain.isidentifier():
        return plain in SECRET_NAMES
    return any(part in SECRET_NAMES for part in re.split(r"[\[\].]", plain))


def _number(value: float) -> int | float | str:
    # A card number has at most 19 digits; str() of a huge int raises.
    if not 10**12 <= abs(value) < 10**19 or value != int(value):
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


# --- Text -------------------------------------------------------------------------------------

_CVC = r"cvc2?|cvv2?|csc"
_NAMED = "|".join(sorted(SECRET_NAMES - {"card"}))
_QUOTE = r"""\\?["']"""


def _key_with_last4(key: re.Match[str]) -> str:
    prefix, rest = key.groups()
    return f"{prefix}…{rest[-4:]}" if len(rest) >= 12 else f"{prefix}{REDACTED}"


_REPLACEMENTS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (
        re.compile(r"-----BEGIN [^-\n]{1,60}-----.*?(?:-----END [^-\n]{1,60}-----|\Z)", re.DOTALL),
        "[redacted PEM block]",
    ),
    (
        # PostgreSQL's DETAIL quotes whole rows: names, addresses, e-mails. The end may be cut off.
        re.compile(r"(Failing row contains \().*?(?:\)(?=\.(?:\s|\Z))|\Z)", re.DOTALL),
        rf"\1{REDACTED})",
    ),
    (
        re.compile(r"(\bKey \([^()\n]{1,300}\)=\().*?(?:\)(?= [a-z]{2,12} )|\Z)", re.DOTALL),
        rf"\1{REDACTED})",
    ),
    (
        # authorization: Basic …, "Authorization": "Bearer …", authorization=…
        re.compile(
            rf"(?i)\b(authorization(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?)"
            r"(?:(?:basic|bearer|digest|token)\s{1,3})?[^\s\"',;\\]+"
        ),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"(?i)\b(bearer)\s{1,3}[\w.~+/=-]+"), rf"\1 {REDACTED}"),
    (re.compile(r"(?<![A-Za-z0-9])(sk_(?:sandbox|live|test)_)(\w+)"), _key_with_last4),
    (re.compile(r"(?<![A-Za-z0-9])whsec_[\w+/=-]+"), f"whsec_{REDACTED}"),
    (
        # card[cvc]=123, "cvc": "123", cvc%5D=123
        re.compile(
            rf"(?i)(?:(?<![A-Za-z])|(?<=%5B))((?:{_CVC})(?:\]|%5D|{_QUOTE}){{0,3}}\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?)"
            r"[0-9]{3,4}(?![0-9])"
        ),
        rf"\1{REDACTED}",
    ),
    (
        # The repr or the JSON of a mapping: 'password': '…'.
        re.compile(
            rf"(?i)({_QUOTE}(?:{_NAMED}){_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE})"
            r"[^\"'\\]+"
        ),
        rf"\1{REDACTED}",
    ),
]


# What none of the patterns above can do without. Most texts have nothing of it, and one look is
# cheaper than nine searches.
_SUSPICIOUS = re.compile(
    r"""-----b|failing row|key \(|authorization|bearer|sk_|whsec_|c[sv][cv]|["']"""
)


def _text(text: str) -> str:
    text = _cut(text)
    if _is_a_plain_word(text):
        return text
    if _SUSPICIOUS.search(_without_case(text)):
        for pattern, replacement in _REPLACEMENTS:
            text = pattern.sub(replacement, text)
    text = mask_card_numbers(text)
    plain = _unescaped(text)
    # Escapes put letters and digits beside the number: `\n4242…`, `%204242…`.
    is_hiding = plain != text and contains_card_number(plain)
    return mask_card_numbers(plain) if is_hiding else text


def _is_a_plain_word(text: str) -> bool:
    """Tell of ids, statuses and the like, with one cheap look, that nothing is hidden in them."""
    return (
        text.isidentifier()
        and text.isascii()
        and "sk_" not in text
        and "whsec_" not in text
        and (len(text) < SHORTEST_NUMBER or not contains_card_number(text))
    )


def _without_case(text: str) -> str:
    """Return the text as patterns that ignore case compare it: they take ı for an i, too."""
    return text.lower() if text.isascii() else text.casefold().replace("ı", "i")


_TAIL = 128


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    # Half a card number at the cut would not be recognised: go back to the last letter.
    tail = text[MAX_CHARACTERS - _TAIL : MAX_CHARACTERS]
    kept = re.sub(r"[^A-Za-z]*\Z", "", tail)
    return f"{text[: MAX_CHARACTERS - _TAIL]}{kept}…"


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[abfnrtv])")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")


def _unescaped(text: str) -> str:
    if "%" in text:
        text = _PERCENT.sub(_percent_characters, text)
    if "\\" in text:
        text = _ESCAPE.sub(_escaped_character, text)
    return text


def _escaped_character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else " "


def _percent_characters(escape: re.Match[str]) -> str:
    return unquote_to_bytes(escape[0]).decode("utf-8", "replace")
