"""The key ring: every key of the installation, in one file, and what is done with them.

The file holds them wrapped by a key-encryption key, which lies apart from it (`core.keyring.kek`).
Never derived from SECRET_KEY: that one is rotated when sessions leak, these when cards do.
"""

from functools import cache

from django.conf import settings

from core.keyring.changes import (
    add,
    complete,
    missing_purposes,
    promote,
    purge,
    put_back,
    require_retired,
    retire,
)
from core.keyring.file import create, is_wrapped, load, wrap
from core.keyring.kek import KeyRingError
from core.keyring.purposes import MAC_PURPOSES, PURPOSES, new_key_id, purpose_of
from core.keyring.sealing import KeyRing, SealBroken, UnknownKey

__all__ = [
    "MAC_PURPOSES", "PURPOSES", "KeyRing", "KeyRingError", "SealBroken", "UnknownKey",
    "add", "complete", "create", "is_wrapped", "load", "missing_purposes", "new_key_id",
    "promote", "purge", "purpose_of", "put_back", "require_retired", "retire", "ring", "wrap",
]  # fmt: skip


@cache
def ring() -> KeyRing:
    """Return the installation's key ring, read once per process.

    :raises KeyRingError: the file is missing or unusable.
    """
    return load(settings.KEYRING_FILE)
