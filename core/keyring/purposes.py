"""The purposes of keys for hashes and security codes, and which of a purpose's keys is primary.

A purpose's first key is named as the purpose is; later ones are `purpose-…`.
"""

from collections.abc import Mapping
from typing import Any

from core import ids

# The first purposes, which every key ring was made with; a file without one of them has lost it.
FIRST_PURPOSES = ("api_key", "card_fingerprint", "idempotency", "link")
# Purposes that the service learnt later: `complete` adds them to older files.
LATER_PURPOSES = (
    "audit_log",
    "email_fingerprint",
    "network_fingerprint",
    "second_factor",
    "session",
)
MAC_PURPOSES = FIRST_PURPOSES + LATER_PURPOSES
CVC = "cvc"
PURPOSES = (*MAC_PURPOSES, CVC)
# Of a code in bytes; a later key's part and a point are in front of them.
CODE_BYTES = 32
MARKED_BYTES = 43
# As PostgreSQL reads it: a later key's part, and 64 hex characters.
FINGERPRINT = "^([0-9A-Za-z]{10}[.])?[0-9a-f]{64}$"


def purpose_of(name: str) -> str | None:
    """Return the purpose that a key's name begins with; None for an encryption key."""
    purpose = name.partition("-")[0]
    return purpose if purpose in PURPOSES else None


def new_key_id(purpose: str | None = None) -> str:
    """Return a name for a new key of a purpose, by default for an encryption key."""
    return f"{purpose}-{ids.random_base62(10)}" if purpose else f"k_{ids.random_base62(10)}"


def fingerprint(name: str, code: bytes) -> str:
    """Return a key's code as the database keeps it: a later key's part, and 64 hex characters."""
    part = name.partition("-")[2]
    return f"{part}.{code.hex()}" if part else code.hex()


def marked(name: str, code: bytes) -> bytes:
    """Return a key's code as bytes that the database keeps: a later key's part, and 32 bytes."""
    part = name.partition("-")[2]
    return f"{part}.".encode() + code if part else code


def key_of_mark(purpose: str, mark: bytes) -> str:
    """Return the name of the key that bytes are of, by what is in front of their code."""
    part = mark.decode("ascii", "replace").rstrip(".")
    return f"{purpose}-{part}" if part else purpose


def key_of_fingerprint(purpose: str, text: str) -> str:
    """Return the name of the key that a fingerprint is of."""
    part = text.rpartition(".")[0]
    return f"{purpose}-{part}" if part else purpose


def keys_of_purposes(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of all purposes by name, as a file's content has them."""
    first = {CVC: content[CVC]} if CVC in content else {}
    return {**content["mac"], **first}


def primary_of(content: Mapping[str, Any], purpose: str) -> str:
    """Return the name of the key by which a purpose's hashes are made."""
    return str(content.get("primaries", {}).get(purpose, purpose))
