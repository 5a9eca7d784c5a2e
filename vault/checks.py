"""Checks at the start: without its keys a process would seal cards that no other can open."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError, connection

from core import keyring
from core.keyring import dates
from core.keyring.file import content_of
from core.keyring.steps import Step
from vault import peers, ring_history, sealed_rows

log = structlog.get_logger(__name__)

# Writes the rows of steps with a file that the audit log lacks. Given by `vault.apps`: Celery's
# application loads this module before Django's models are there.
ROWS_OF_STEPS: list[Callable[[Path, Sequence[Step]], None]] = []


def key_ring_loads(**_kwargs: Any) -> list[CheckMessage]:
    """Report a key ring that is missing or unusable, before a request needs a key."""
    try:
        keyring.load(settings.KEYRING_FILE)
    except keyring.KeyRingError as error:
        return [Error(str(error), id="vault.E001")]
    return []


def require_keys() -> None:
    """Stop a process at its start that could not open what others have sealed.

    Called before the process forks: the connection is closed again. The keys of hashes
    are not checked, for nothing that they made is made again without what it was made of.

    :raises KeyRingError: the key ring is missing or unusable, lacks a key that rows use, has
        another one in its place, or is older than steps of the audit log.
    """
    ring = keyring.ring()
    try:
        used = _used_key_ids()
        wrong = sorted(key for key in used & ring.key_ids if not _is_right(ring, key))
        missing = [(key, peers.holders(key)) for key in sorted(used - ring.key_ids)]
        if not missing:
            ring_history.require_current(ring, peers.here())
            _write_missing_rows(ring)
    except DatabaseError as error:
        # Down, or not migrated yet: that is told to every request, and is no reason to stop.
        log.warning("keys_in_use_not_checked", error=type(error).__name__)
        return
    finally:
        connection.close()
    if missing or wrong:
        raise keyring.KeyRingError("\n".join([*map(_lacks, missing), *map(_has_another, wrong)]))


def _write_missing_rows(ring: keyring.KeyRing) -> None:
    """Write the audit rows of steps that were killed before they had them; a standby cannot."""
    try:
        for write in ROWS_OF_STEPS:
            write(settings.KEYRING_FILE, ring.steps)
    except DatabaseError as error:
        log.warning("key_ring_steps_not_noted", error=type(error).__name__)


def _used_key_ids() -> set[str]:
    return set().union(*(column.known_key_ids() for column in sealed_rows.columns()))


def _is_right(ring: keyring.KeyRing, key_id: str) -> bool:
    """Return whether the key opens anything of its own; a row or two may have been changed."""
    rows = [
        (bytes(getattr(row, column.field.attname)), row.seal_context)
        for column in sealed_rows.columns()
        for row in column.samples(key_id)
    ]
    return not rows or any(_opens(ring, blob, context) for blob, context in rows)


def _opens(ring: keyring.KeyRing, blob: bytes, context: str) -> bool:
    try:
        ring.verify(blob, context=context)
    except (keyring.SealBroken, keyring.UnknownKey):
        return False
    return True


def _lacks(missing: tuple[str, str]) -> str:
    key_id, holders = missing
    return (
        f"{peers.here()} lacks {key_id}, which rows of the database are sealed with. {holders}: "
        f"put it back by `manage.py keyring put-back {key_id} --from COPY`, of which COPY is that "
        "key ring, or any copy of an older one that has the key."
    )


def _has_another(key_id: str) -> str:
    return (
        f"{peers.here()} has another key under the name {key_id} than the one which rows of the "
        f"database are sealed with: put a copy in its place that has the right {key_id}."
    )


def keys_are_in_date(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Warn of keys that are due, and of a key-encryption key on the mount of the key ring.

    Like the looks at the stores it is asked for with `--database`: the others need nothing that
    an installation has.
    """
    if not databases:
        return []
    try:
        content = content_of(settings.KEYRING_FILE)
        found = list(dates.due(content))
        if settings.LIVEMODE:
            found += _where_it_lies(content)
    except keyring.KeyRingError:
        return []  # `key_ring_loads` tells it.
    return [CheckWarning(sentence, id="vault.W001") for sentence in found]


def _where_it_lies(content: Mapping[str, Any]) -> Iterator[str]:
    if content["provider"] != settings.KEK_PROVIDER:
        yield (
            f"The key ring is wrapped by {content['provider']} and not by {settings.KEK_PROVIDER}: "
            "run `manage.py keyring wrap`."
        )
    if (
        content["provider"] != "pkcs11"
        and settings.KEYRING_FILE.stat().st_dev == settings.KEK_FILE.stat().st_dev
    ):
        yield "KEK_FILE is on the same mount as KEYRING_FILE: one backup or copy has both."
