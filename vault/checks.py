"""Nobody starts without the keys: found out before a card is sealed that nobody can open."""

from typing import Any

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import DatabaseError, connection

from core import keyring
from vault import sealed_rows

log = structlog.get_logger(__name__)


def key_ring_loads(**_kwargs: Any) -> list[CheckMessage]:
    """Report a key ring that is missing or unusable before anybody needs a key."""
    try:
        keyring.load(settings.KEYRING_FILE)
    except keyring.KeyRingError as error:
        return [Error(str(error), id="vault.E001")]
    return []


def require_keys() -> None:
    """Stop a process at its start that could not open what others have sealed.

    Called before the process forks: the connection is closed again.

    :raises KeyRingError: the key ring is missing or unusable, or lacks a key that rows use.
    """
    held = keyring.ring().key_ids
    try:
        missing = _used_key_ids() - held
    except DatabaseError as error:
        # Down, or not migrated yet: that is told to every request, and is no reason to stop.
        log.warning("keys_in_use_not_checked", error=type(error).__name__)
        return
    finally:
        connection.close()
    if missing:
        raise keyring.KeyRingError(
            f"The key ring at {settings.KEYRING_FILE} lacks {', '.join(sorted(missing))}, which "
            "rows of the database are sealed with: restore it from your backup."
        )


def _used_key_ids() -> set[str]:
    return set().union(*(column.known_key_ids() for column in sealed_rows.columns()))
