"""The key ring: every key of the installation, in one file, and what is done with them.

Never derived from SECRET_KEY: that one is rotated when sessions leak, these when cards do.
"""

from functools import cache

from django.conf import settings

from core.keyring.file import (
    MAC_PURPOSES,
    KeyRingError,
    add,
    complete,
    create,
    load,
    missing_purposes,
    promote,
    remove,
)
from core.keyring.sealing import KeyRing, SealBroken, UnknownKey

__all__ = [
    "MAC_PURPOSES", "KeyRing", "KeyRingError", "SealBroken", "UnknownKey",
    "add", "complete", "create", "load", "missing_purposes", "promote", "remove", "ring",
]  # fmt: skip


@cache
def ring() -> KeyRing:
    """Return the installation's key ring, read once per process.

    :raises KeyRingError: the file is missing or unusable.
    """
    return load(settings.KEYRING_FILE)
