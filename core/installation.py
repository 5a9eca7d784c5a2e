"""Whether this database is the installation's own, or a copy of it that has to be held.

A restored backup and a promoted standby lack commits: a payment that they have no row of may be
charged already. Two facts show a copy. The place, kept in one row: the server's identity, its
timeline (a recovery and a promotion begin another one) and the database. The mark: beat writes a
random number to a file on its host and to the database, at each start and once a minute after, so a
file whose number the database lacks is younger than the database.

A held copy is read and changes nothing, until an operator opens it by `manage.py after_restore`.
Imports no model: gunicorn begins the heartbeat, which asks this, before there is a request.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from psycopg import Connection

from core import ids
from core.errors import UpstreamUnavailable

# A standby has no place: it cannot be written to, and is compared once it is promoted.
PLACE = """
CASE WHEN NOT pg_is_in_recovery() THEN (
    SELECT concat_ws('/', (pg_control_system()).system_identifier,
        left(pg_walfile_name(pg_current_wal_lsn()), 8), oid)
    FROM pg_database WHERE datname = current_database()) END
"""
# For a statement that is asked anyway; null where no beat has ever begun.
IS_HELD_COLUMN = f"(SELECT held_at IS NOT NULL OR place <> {PLACE} FROM core_installation)"  # noqa: S608
CALLER, OF_CALLER = "is_held", IS_HELD_COLUMN
HOLD = """
UPDATE core_installation SET held_at = statement_timestamp(), held_reason = %s WHERE held_at IS NULL
"""
OPEN = f"""
UPDATE core_installation SET place = {PLACE}, held_at = NULL, held_reason = NULL,
    opened_at = statement_timestamp()
"""  # noqa: S608
FOUND = f"INSERT INTO core_installation (id, place) VALUES (1, {PLACE}) ON CONFLICT DO NOTHING"  # noqa: S608
REASON = f"SELECT coalesce(held_reason, %s) FROM core_installation WHERE {IS_HELD_COLUMN}"  # noqa: S608
MARK = "INSERT INTO core_mark (number, made_at) VALUES (%s, statement_timestamp())"
FORGET = "DELETE FROM core_mark WHERE made_at < statement_timestamp() - make_interval(days => %s)"
KEPT_DAYS = 30
# A file that beat no longer renews proves nothing once the database has forgotten its number.
EVIDENCE_DAYS = 29

MOVED = "It runs at another server, or after a recovery or a promotion."
NO_FILE = "The file with the installation's mark is missing or unreadable."
YOUNGER = "The file with the installation's mark is younger than this database."

log = structlog.get_logger(__name__)


class HeldCopy(UpstreamUnavailable):
    """Refuse what would charge, send or change anything on a copy that is not opened."""

    retry_after_seconds = 60
    message = (
        "This installation was restored from a copy. It takes changes again once its operator has "
        "compared it with the bank."
    )


class Mark(NamedTuple):
    """The content of the file: the number of the last mark, and of one that is being made."""

    number: str | None
    following: str | None = None


# --- This process -----------------------------------------------------------------------------

_known: list[bool] = [False]


def known_to_be_held() -> bool:
    """Return what the last heartbeat has found; it asks nothing, and lags by 15 s at most."""
    return _known[0]


def is_held() -> bool:
    """Return whether the database is held at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {IS_HELD_COLUMN}")
        return bool(cursor.fetchone()[0])


def look() -> bool:
    """Return whether the database is held, and note it for this process, which may not beat."""
    _known[0] = is_held()
    return _known[0]


def require_open() -> None:
    """:raises HeldCopy: the database is held at this moment."""
    if is_held():
        raise HeldCopy


def hear(raw: Connection) -> None:
    """Note for this process whether the database is held."""
    rows = raw.execute(REASON, [MOVED]).fetchall()
    if rows and not _known[0]:
        [[reason]] = rows
        log.error("installation_held", reason=reason, advice="Run: manage.py after_restore")
    elif _known[0] and not rows:
        log.warning("installation_opened")
    _known[0] = bool(rows)


def held_since() -> tuple[datetime, str] | None:
    """Hold the database for good if its place is another one; return since when, and the reason."""
    with connection.cursor() as cursor:
        cursor.execute(f"{HOLD} AND {IS_HELD_COLUMN}", [MOVED])
        cursor.execute(
            "SELECT held_at, held_reason FROM core_installation WHERE held_at IS NOT NULL"
        )
        found = cursor.fetchone()
    return (found[0], found[1]) if found else None


def newest_mark_before(moment: datetime) -> datetime | None:
    """Return when the last mark was made that the copy has of its original's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(made_at) FROM core_mark WHERE made_at < %s", [moment])
        return cast(datetime | None, cursor.fetchone()[0])


def open_here() -> None:
    """Open a held database where it is now; in the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN)


# --- The mark ---------------------------------------------------------------------------------


def compare(raw: Connection) -> None:
    """Hold the database if the file on this host, where there is one, is younger."""
    path = settings.MARK_FILE
    if _is_evidence(path):
        _hold_a_copy(raw, path)


def keep(raw: Connection) -> None:
    """Compare the file with the database, hold a copy, and make the next mark in both.

    Beat calls it. The next mark is made of a held copy too: an operator opens it for this file.

    :raises ImproperlyConfigured: the file cannot be written.
    """
    path = settings.MARK_FILE
    # By itself: a file that cannot be written must not undo it.
    _hold_a_copy(raw, path)
    with raw.transaction():
        # A mark that the server loses with its memory would hold the installation for nothing.
        raw.execute("SET LOCAL synchronous_commit = on")
        is_new = bool(raw.execute(FOUND).rowcount)
        raw.execute("SELECT 1 FROM core_installation FOR UPDATE")
        mark = None if is_new else _read(path)
        if not is_new:
            _hold_for(raw, _contradiction(raw, mark))
        following = ids.random_base62(24)
        _write(path, Mark(mark.number if mark else None, following))
        raw.execute(MARK, [following])
        raw.execute(FORGET, [KEPT_DAYS])
    _write(path, Mark(following))


def _hold_a_copy(raw: Connection, path: Path) -> None:
    # The row first: whoever founds it has written the file before.
    if raw.execute("SELECT 1 FROM core_installation").fetchone():
        raw.execute(f"{HOLD} AND {IS_HELD_COLUMN}", [MOVED])
        _hold_for(raw, _contradiction(raw, _read(path)))


def _contradiction(raw: Connection, mark: Mark | None) -> str | None:
    if mark is None:
        return NO_FILE
    known = "SELECT 1 FROM core_mark WHERE number = ANY (%s)"
    return None if raw.execute(known, [[*filter(None, mark)]]).fetchone() else YOUNGER


def _hold_for(raw: Connection, reason: str | None) -> None:
    if reason:
        raw.execute(HOLD, [reason])


def _is_evidence(path: Path) -> bool:
    try:
        written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return False
    return (datetime.now(UTC) - written_at).days < EVIDENCE_DAYS


def _read(path: Path) -> Mark | None:
    try:
        content: Any = json.loads(path.read_bytes())
        return Mark(content["number"], content["following"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(path: Path, mark: Mark) -> None:
    draft = path.with_name(f"{path.name}.new")
    try:
        with draft.open("w", encoding="ascii") as file:
            json.dump(mark._asdict(), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot write the installation's mark to {path} ({error.strerror}): set MARK_FILE to "
            "a place on a disk that stays, where the service's user may write."
        ) from error
