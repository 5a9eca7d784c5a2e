"""The hash of version 3, over a form's values as bytes: Base64 of SHA-512."""

import base64
import hashlib
import re
from collections.abc import Mapping

# Never hashed, in any case of letters.
LEFT_OUT = frozenset({"hash", "encoding"})


def hashed(fields: Mapping[str, bytes], store_key: str) -> str:
    """Return the hash of all fields that are hashed, the empty ones too."""
    names = [name for name in fields if name.lower() not in LEFT_OUT]
    values = [fields[name] for name in sorted(names, key=_naturally)]
    text = b"|".join(map(_escaped, [*values, store_key.encode()]))
    return base64.b64encode(hashlib.sha512(text).digest()).decode()


def _naturally(name: str) -> list[int | str]:
    """Return the key of an order without regard to case, in which `item2` is before `item10`."""
    parts = re.split(r"([0-9]+)", name.lower())
    return [int(part) if part.isdecimal() else part for part in parts]


def _escaped(value: bytes) -> bytes:
    return value.replace(b"\\", b"\\\\").replace(b"|", b"\\|")
