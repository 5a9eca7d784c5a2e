"""Whether this database is the installation's own, or a copy of it that has to be held.

A restored backup and a promoted standby lack commits: a payment that they have no row of may be
charged already. Two facts show a copy. The place, kept in one row: the server's identity, its
timeline (a recovery and a promotion begin another one) and the database. And the mark, in a file on
beat's host (`core.marks`).

Where all standbys are synchronous, a promotion alone is no sign (`SYNCHRONOUS_STANDBYS`, ADR 0057):
then beat compares its file and opens by itself, if commits waited for a standby at the newest mark,
and it is young. Until then changes are refused, and also once the server stops waiting, until beat
has written that down. A held copy is read and changes nothing, until an operator opens it by
`manage.py after_restore`. Imports no model: gunicorn begins the heartbeat, which asks this, before
there is a request.
"""

from datetime import datetime
from typing import cast

import structlog
from django.conf import settings
from django.db import connection
from psycopg import Connection

from core.errors import UpstreamUnavailable

# A standby has no place: it cannot be written to, and is compared once it is promoted.
PLACE = """
CASE WHEN NOT pg_is_in_recovery() THEN (
    SELECT concat_ws('/', (pg_control_system()).system_identifier,
        left(pg_walfile_name(pg_current_wal_lsn()), 8), oid)
    FROM pg_database WHERE datname = current_database()) END
"""


# Of the statement "who calls".
CALLER = "is_held"
# Longer than a failover takes; beat makes a mark each minute. A mark of the future, by a clock
# that was set back, proves no age.
IS_YOUNG = """
(SELECT max(made_at) FROM core_mark) BETWEEN
    statement_timestamp() - interval '5 minutes' AND statement_timestamp() + interval '5 minutes'
"""
# A copy of a held copy is held once more: what was done for the first one is not done for it.
HOLD = f"""
UPDATE core_installation SET held_at = statement_timestamp(), held_reason = %s, held_place = {PLACE}
WHERE (held_at IS NULL OR held_place <> {PLACE})
"""  # noqa: S608
OPEN = f"""
UPDATE core_installation SET place = {PLACE}, held_at = NULL, held_reason = NULL,
    held_place = NULL, opened_at = CASE WHEN %s THEN opened_at ELSE statement_timestamp() END
"""  # noqa: S608
FOUND = f"""
INSERT INTO core_installation (id, identity, place) VALUES (1, %s, {PLACE}) ON CONFLICT DO NOTHING
"""  # noqa: S608
# A commit of this session waits for a standby's disk. A bound of statements would end the wait, and
# the commit would count as done.
IS_BOUND = "current_setting('statement_timeout') <> '0'"
WAITS = f"""
(current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') IN ('on', 'remote_apply') AND NOT {IS_BOUND})
"""
BACKUP_MADE = """
UPDATE core_installation SET backup_made_at = greatest(backup_made_at, %s)
WHERE %s <= statement_timestamp() + interval '1 minute' RETURNING backup_made_at
"""
BACKUPS = "SELECT backup_made_at, (SELECT min(made_at) FROM core_mark) FROM core_installation"
MOVED = "It runs at another server, or after a recovery or a promotion."
FOR_BEAT = "A standby was promoted, or the server stopped waiting for one: beat has to look at it."

log = structlog.get_logger(__name__)


class HeldCopy(UpstreamUnavailable):
    """Refuse what would charge, send or change anything on a copy that is not opened."""

    retry_after_seconds = 60
    message = (
        "This installation was restored from a copy. It takes changes again once its operator has "
        "compared it with the bank."
    )


def _needs_a_person() -> str:
    """Return the condition that no process may open the database by itself, in SQL."""
    if not settings.SYNCHRONOUS_STANDBYS:
        return f"held_at IS NOT NULL OR place <> {PLACE}"
    ours, here = (
        f"(split_part({one}, '/', 1), split_part({one}, '/', 3))" for one in ("place", PLACE)
    )
    # Not a recovery to a moment: its newest mark is of that moment, and a failover's of a minute.
    is_failover = f"{ours} = {here} AND is_waited_for AND {IS_YOUNG}"
    return f"held_at IS NOT NULL OR place <> {PLACE} AND NOT ({is_failover})"


def is_held_column() -> str:
    """Return a column for a statement that is asked anyway; null where no beat has ever begun."""
    held = f"held_at IS NOT NULL OR place <> {PLACE}"
    if settings.SYNCHRONOUS_STANDBYS:
        # A commit of now may be on no standby: a promotion must find that written down.
        held += f" OR is_waited_for AND NOT {WAITS}"
    return f"(SELECT {held} FROM core_installation)"  # noqa: S608


def _reason() -> str:
    return f"""
    SELECT CASE WHEN {_needs_a_person()} THEN coalesce(held_reason, %s) ELSE %s END
    FROM core_installation WHERE {is_held_column()}
    """  # noqa: S608


# --- This process -----------------------------------------------------------------------------

# Why the database is held.
_known: list[str | None] = [None]


def known_to_be_held() -> bool:
    """Return what the last heartbeat has found; it asks nothing, and lags by 15 s at most."""
    return _known[0] is not None


def waits_for_beat() -> bool:
    """Return whether the last heartbeat has found that beat has to look, and no person."""
    return _known[0] == FOR_BEAT


def is_held() -> bool:
    """Return whether the database is held at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {is_held_column()}")
        return bool(cursor.fetchone()[0])


def look() -> bool:
    """Return whether the database is held, and note it for this process, which may not beat."""
    _known[0] = reason_held()
    return known_to_be_held()


def reason_held() -> str | None:
    """Return why the database is held at this moment; None if it is not."""
    with connection.cursor() as cursor:
        cursor.execute(_reason(), [MOVED, FOR_BEAT])
        found = cursor.fetchone()
    return found[0] if found else None


def require_open() -> None:
    """:raises HeldCopy: the database is held at this moment."""
    if is_held():
        raise HeldCopy


def hear(raw: Connection) -> None:
    """Note for this process whether the database is held."""
    [reason] = raw.execute(_reason(), [MOVED, FOR_BEAT]).fetchone() or [None]
    if reason != _known[0]:
        _log_reason(reason)
    _known[0] = reason


def _log_reason(reason: str | None) -> None:
    if reason is None:
        log.warning("installation_opened")
    elif reason == FOR_BEAT:
        log.warning("installation_waits_for_beat", reason=reason)
    else:
        log.error("installation_held", reason=reason, advice="Run: manage.py after_restore")


def is_for_beat(raw: Connection) -> bool:
    """Return whether the database is held until beat has looked at it."""
    reason = raw.execute(_reason(), [MOVED, FOR_BEAT]).fetchone()
    return reason == (FOR_BEAT,)


def found(raw: Connection, identity: str) -> bool:
    """Write the row of a new installation; return whether there was none.

    :param identity: of the installation, which its dumps and files keep.
    """
    return bool(raw.execute(FOUND, [identity]).rowcount)


def hold(raw: Connection, reason: str) -> None:
    """Hold the database, unless it is held at this place."""
    raw.execute(HOLD, [reason])


def hold_if_moved(raw: Connection) -> None:
    """Hold the database if its place is another one than its row has."""
    raw.execute(f"{HOLD} AND ({_needs_a_person()})", [MOVED])


def stay(raw: Connection) -> None:
    """Write down the place after a promotion that holds nothing."""
    stay = (
        f"UPDATE core_installation SET place = {PLACE}"  # noqa: S608
        f" WHERE place <> {PLACE} AND NOT ({_needs_a_person()})"
    )
    if raw.execute(stay).rowcount:
        log.warning("standby_promoted")


def note_waiting(raw: Connection, *, is_waited_for: bool) -> None:
    """Write down whether commits wait for a standby: a promotion is believed if they do."""
    raw.execute(
        "UPDATE core_installation SET is_waited_for = %(is_waited_for)s"
        " WHERE is_waited_for <> %(is_waited_for)s",
        {"is_waited_for": is_waited_for},
    )


def was_waited_for(raw: Connection) -> bool:
    """Return whether commits waited for a standby at the newest mark; True where there is none."""
    return raw.execute("SELECT FROM core_installation WHERE NOT is_waited_for").fetchone() is None


def has_moved(raw: Connection) -> bool:
    """Return whether the database is at another place than its row has."""
    moved = f"SELECT FROM core_installation WHERE place <> {PLACE}"  # noqa: S608
    return raw.execute(moved).fetchone() is not None


def waits(raw: Connection) -> bool:
    """Return whether each commit of the service waits for a standby's disk; in no transaction."""
    [found] = raw.execute(f"SELECT {WAITS}").fetchone() or [False]
    return settings.SYNCHRONOUS_STANDBYS and bool(found)


def waits_for_standbys() -> bool:
    """Return whether a commit waits for a standby's disk at the server as it is now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {WAITS}")
        return bool(cursor.fetchone()[0])


def held_since() -> tuple[datetime, str] | None:
    """Hold the database for good if its place is another one; return since when, and the reason."""
    with connection.cursor() as cursor:
        cursor.execute(f"{HOLD} AND ({_needs_a_person()})", [MOVED])
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


def open_here(*, is_whole: bool = False) -> None:
    """Open a held database where it is now; in the caller's transaction.

    :param is_whole: nothing is missing, so it does not count as a restored copy.
    """
    with connection.cursor() as cursor:
        cursor.execute(OPEN, [is_whole])


def opened_at() -> datetime | None:
    """Return when a restored copy was opened here last, in real time; None if none ever was."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT opened_at FROM core_installation")
        found = cursor.fetchone()
    return found[0] if found else None


# --- Backups ----------------------------------------------------------------------------------


def note_backup(made_at: datetime) -> datetime | None:
    """Write down that a backup was made, and return when the newest one was.

    :return: None if nothing was written: the moment is to come, or no beat has ever begun.
    """
    with connection.cursor() as cursor:
        cursor.execute(BACKUP_MADE, [made_at, made_at])
        found = cursor.fetchone()
    return found[0] if found else None


def newest_backup() -> tuple[datetime | None, datetime | None]:
    """Return when the newest backup was made that was reported, and the oldest mark (30 days)."""
    with connection.cursor() as cursor:
        cursor.execute(BACKUPS)
        found = cursor.fetchone()
    return found or (None, None)
