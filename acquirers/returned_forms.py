"""Forms that a payer's browser brings from a bank: decoded by the adapter, within bounds."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from acquirers.three_d_secure import Forged

FORM = "application/x-www-form-urlencoded"
BYTES_MAX = 32 * 1024
FIELDS_MAX = 64
NAME = re.compile(r"[!-~]{1,64}")
PAGE_CHARSET = "windows-1252"
_CHARACTERS = [
    bytes([byte]).decode(PAGE_CHARSET) if byte not in b"\x81\x8d\x8f\x90\x9d" else chr(byte)
    for byte in range(256)
]


def refuse_oversized(raw: bytes) -> None:
    """Refuse what no bank sends, before anything of it is decoded.

    :raises Forged: more than 32 KiB, or more than 64 fields.
    """
    if len(raw) > BYTES_MAX or raw.count(b"&") >= FIELDS_MAX:
        raise Forged("There is too much of it.")


def read(raw: bytes, content_type: str, *, encoding: str) -> dict[str, str]:
    """Return the fields of a form in the bank's encoding.

    :raises Forged: it is no form, of another encoding, too big, or a field came twice.
    """
    refuse_oversized(raw)
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise Forged("It is no form.")
    pairs = [_pair(part, encoding) for part in raw.split(b"&") if part]
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Forged("A field came twice.")
    return fields


def require_plain_names(names: Iterable[str]) -> None:
    """:raises Forged: a name is none that banks give, or two differ in their case alone."""
    given = list(names)
    if not all(NAME.fullmatch(name) for name in given):
        raise Forged("A name is none that the bank gives.")
    if len({name.lower() for name in given}) != len(given):
        raise Forged("A field came twice.")


def for_a_page(raw: bytes) -> list[tuple[str, str]]:
    """Return the fields for a page's own form, which brings them again byte for byte.

    The page's form must name `PAGE_CHARSET` as its `accept-charset`: in that one, as browsers know
    it, every byte is one character, whatever encoding the bank's answer is in.
    """
    parts = [part.partition(b"=") for part in raw.split(b"&") if part]
    return [(_characters(name), _characters(value)) for name, _, value in parts]


def _characters(text: bytes) -> str:
    # Python's table has no character for five of the bytes, browsers' has their own code points.
    plain = unquote_to_bytes(text.replace(b"+", b" "))
    return "".join(_CHARACTERS[byte] for byte in plain)


def _pair(part: bytes, encoding: str) -> tuple[str, str]:
    name, _, value = part.partition(b"=")
    try:
        return _decoded(name, encoding), _decoded(value, encoding)
    except UnicodeDecodeError:
        raise Forged("It is in another encoding.") from None


def _decoded(text: bytes, encoding: str) -> str:
    return unquote_to_bytes(text.replace(b"+", b" ")).decode(encoding)
