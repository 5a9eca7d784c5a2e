"""The hash of version 3, over the form that a payer brings to the gate, and the one brought back.

Names are not in it, only values in the order of their names. Values are bytes as they came, one
character a byte (latin-1): the bank may have written Turkish letters in one encoding or another.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping

BYTES = "latin-1"
VERSION = "ver3"
# Compared in small letters. Some hosts add the last one, which the bank leaves out too.
UNSIGNED = frozenset({"hash", "encoding", "nationalidno"})
# The place of `_` among letters depends on the case that a host compares in.
FOLDS: tuple[Callable[[str], str], ...] = (str.lower, str.upper)
_ORDERED_PARTS = re.compile(r"([0-9]+)")


def of(fields: Mapping[str, str], store_key: str, *, fold: Callable[[str], str] = str.lower) -> str:
    """Return the hash over all fields but the unsigned ones.

    :param fields: values as one character a byte; empty ones keep their place.
    :param fold: one of `FOLDS`.
    """
    names = [name for name in fields if name.lower() not in UNSIGNED]
    names.sort(key=lambda name: _place(fold(name)))
    values = [_escaped(fields[name]) for name in names]
    text = "|".join([*values, _escaped(store_key)])
    return base64.b64encode(hashlib.sha512(text.encode(BYTES)).digest()).decode()


def is_right(fields: Mapping[str, str], told: str, store_key: str) -> bool:
    """Compare a hash that a browser brought, in constant time."""
    made = [of(fields, store_key, fold=fold).encode() for fold in FOLDS]
    return any(hmac.compare_digest(one, told.encode(BYTES)) for one in made)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")


def _place(name: str) -> list[tuple[bool, int, str]]:
    """Return the key to order names by, digits by their number."""
    parts = _ORDERED_PARTS.split(name)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]
