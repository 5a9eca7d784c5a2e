"""The processes that run, compared by their key rings: none may seal what another cannot open.

A process reads its key ring at its start. One that has missed a restart goes on with the keys
of before; its row says so (`core.heartbeat`).
"""

import socket
import time
from collections import Counter
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from core import connections, heartbeat, keyring
from core.heartbeat import LIVING_SECONDS, ProcessKind, Stranger
from core.keyring import KeyRingError

# A beat, and one that had to be tried again.
HEAR_SECONDS = heartbeat.BEAT_SECONDS + 2 * heartbeat.RETRY_SECONDS
SILENT = f"A process that ended without a word counts for {LIVING_SECONDS} s."


def living() -> QuerySet[Any]:
    """Return the processes that were seen within a minute, by the database's clock."""
    minute = timedelta(seconds=LIVING_SECONDS)
    return _all().filter(seen_at__range=(Now() - minute, Now() + minute))


def _all() -> QuerySet[Any]:
    # Not imported: Celery's application is loaded before Django's models are.
    return apps.get_model("core", "Process")._default_manager.all()


def join(kind: ProcessKind) -> None:
    """Write this process down, and stop it if its key ring does not go with a living process's.

    Written first, then compared: of two that start at once at least one sees the other.

    :raises KeyRingError: what one of the two seals, the other could not open.
    """
    connections.name_sessions(kind)
    if strangers := heartbeat.write_down(kind):
        heartbeat.end()
        raise KeyRingError("\n".join(dict.fromkeys(map(_told, strangers))))


def require_held(key_id: str) -> None:
    """Refuse before a key seals that a living process could not open with.

    :raises KeyRingError: a living process lacks the key.
    """
    lacking = living().exclude(key_ids__contains=[key_id])
    if lacking:
        raise KeyRingError(
            f"These processes lack {key_id}: {named(lacking)}. Bring the key ring to their hosts "
            f"and start them anew. {SILENT}"
        )


def require_sealing_with(key_id: str) -> None:
    """Refuse while a living process still seals, or makes hashes, with another key than this one.

    :raises KeyRingError: it does.
    """
    purpose = keyring.purpose_of(key_id)
    others = living().exclude(
        **({"purpose_key_ids__contains": [key_id]} if purpose else {"primary_key_id": key_id})
    )
    if others:
        used = ", ".join(sorted({_used(process, purpose) for process in others}))
        raise KeyRingError(
            f"These processes seal with {used} and not with {key_id}: {named(others)}. Bring the "
            f"key ring to their hosts and start them anew. {SILENT}"
        )


def require_lost(key_id: str) -> None:
    """Refuse to give a key up that a living process has: its host has a newer key ring.

    :raises KeyRingError: a living process has the key.
    """
    if holding := living().filter(key_ids__contains=[key_id]):
        raise KeyRingError(
            f"{key_id} is not lost: {named(holding)} have it. Bring the key ring of their hosts "
            f"here. If its file is gone there too, stop them first. {SILENT}"
        )


def _used(process: Any, purpose: str | None) -> str:
    ours = [name for name in process.purpose_key_ids if keyring.purpose_of(name) == purpose]
    return str(ours[0] if ours and purpose else process.primary_key_id)


def hear_all() -> None:
    """Wait until every process that lives has been seen.

    After a restart of the database, or when its clock was put forward, none seems to live before
    its next beat.
    """
    time.sleep(HEAR_SECONDS)


def holders(key_id: str) -> str:
    """Return a sentence that says which processes hold a key, or held it at last."""
    holding = _all().filter(key_ids__contains=[key_id]).order_by("-seen_at")
    if not holding:
        return f"No process of the last {heartbeat.KEPT_DAYS} days had it"
    return f"It is in the key ring of {named(holding)}"


def named(processes: Collection[Any]) -> str:
    """Return kinds and hosts of processes, with how many there are of each."""
    counts = Counter((process.kind, process.host) for process in processes)
    return ", ".join(
        f"{kind} on {host}" + (f" ({count} processes)" if count > 1 else "")
        for (kind, host), count in sorted(counts.items())
    )


def here() -> str:
    """Return which key ring this process has read, on which host."""
    return f"The key ring at {settings.KEYRING_FILE} on {socket.gethostname()}"


def _told(stranger: Stranger) -> str:
    ring, other = keyring.ring(), f"{stranger.kind} on {stranger.host}"
    if lacking := stranger.lacking(ring):
        return (
            f"{here()} lacks {lacking}, which {other} seals with: bring the key "
            f"ring of {stranger.host} here, or put the key back by `manage.py keyring put-back "
            f"{lacking} --from COPY`. {SILENT}"
        )
    if retired := stranger.retired(ring):
        return (
            f"{here()} makes hashes with {retired}, which was retired: bring the key ring of "
            f"{stranger.host} here. {SILENT}"
        )
    return (
        f"{here()} seals with {stranger.lacked(ring)}, which {other} lacks: bring the newer of the "
        f"two key rings to both hosts, and start {other} anew. {SILENT}"
    )
