"""The key ring: every key of the installation, in one file, and what is done with them.

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
from core.keyring.file import MAC_PURPOSES, KeyRingError, create, load
from core.keyring.sealing import KeyRing, SealBroken, UnknownKey

__all__ = [
    "MAC_PURPOSES", "KeyRing", "KeyRingError", "SealBroken", "UnknownKey",
    "add", "complete", "create", "load", "missing_purposes", "promote", "purge", "put_back",
    "require_retired", "retire", "ring",
]  # fmt: skip


@cache
def ring() -> KeyRing:
    """Return the installation's key ring, read once per process.

    :raises KeyRingError: the file is missing or unusable.
    """
    return load(settings.KEYRING_FILE)
