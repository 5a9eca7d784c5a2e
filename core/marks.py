"""The mark: a random number that beat writes to a file on its host and to the database.

It does so at its start, once a minute after, and at its end. A file whose number the database lacks
is younger than the database, which is then a copy that was put back. Imports no model: gunicorn
begins the heartbeat, which asks this, before there is a request.
"""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from psycopg import Connection

from core import ids, installation

MARK = "INSERT INTO core_mark (number, made_at) VALUES (%s, statement_timestamp())"
FORGET = "DELETE FROM core_mark WHERE made_at < statement_timestamp() - make_interval(days => %s)"
KEPT_DAYS = 30
KNOWN = "SELECT 1 FROM core_mark WHERE number = ANY (%s)"
# No file that is older can contradict: its number is forgotten.
OLDEST = "SELECT min(made_at) FROM core_mark"
NEWEST = "SELECT number FROM core_mark ORDER BY made_at DESC LIMIT 1"
IDENTITY = "SELECT identity FROM core_installation"
OWN = """
SELECT identity, statement_timestamp(), held_at IS NOT NULL FROM core_installation FOR UPDATE
"""
OTHERS = """
SELECT count(*) FROM core_process
WHERE seen_at > statement_timestamp() - make_interval(secs => %s)
"""

NO_FILE = "The file with the installation's mark is missing or unreadable."
YOUNGER = "The file with the installation's mark is younger than this database."


class Mark(NamedTuple):
    """The content of the file.

    :param installation: the identity of the installation that it is of.
    :param made_at: by the database's clock.
    :param following: the number of a mark that is being made.
    :param is_last: beat ended after it, no other process ran then, and the database was not held.
    :param is_waited_for: commits waited for a standby as the newer of the two numbers was made.
    """

    installation: str
    made_at: str
    number: str | None
    following: str | None = None
    is_last: bool = False
    is_waited_for: bool = True


def compare(raw: Connection) -> None:
    """Hold the database if the file on this host, where there is one of it, is younger."""
    mark = _read(settings.MARK_FILE)
    own = raw.execute(IDENTITY).fetchone()
    if mark and own and mark.installation == own[0]:
        _hold_a_copy(raw, mark)


def keep(raw: Connection, *, is_last: bool = False) -> None:
    """Compare the file with the database, hold a copy, and make the next mark in both.

    Beat calls it. The next mark is made of a held copy too: an operator opens it for this file. It
    is never the last one there: a copy cannot prove that it has everything.

    :param is_last: beat ends, and no other process runs.
    :raises ImproperlyConfigured: the file cannot be written, or is another installation's.
    """
    path = settings.MARK_FILE
    # By itself: a file that cannot be written must not undo it. The row is read behind the file:
    # whoever founds an installation writes the file first.
    _hold_a_copy(raw, _read(path))
    is_waited_for = installation.waits(raw)
    with raw.transaction():
        # A mark that the server loses with its memory would hold the installation for nothing.
        raw.execute("SET LOCAL synchronous_commit = on")
        is_new = installation.found(raw, ids.random_base62(24))
        [[identity, now, is_held]] = raw.execute(OWN).fetchall()
        mark = _read(path)
        _require_own(mark, identity)
        if not is_new:
            _hold_if_contradicted(raw, mark)
        installation.stay(raw)
        # A standby that lacks this row lacks the mark of the file, too.
        installation.note_waiting(raw, is_waited_for=is_waited_for)
        following = Mark(
            identity, now.isoformat(), mark and _newest_that_is_there(raw, mark),
            ids.random_base62(24), is_waited_for=is_waited_for,
        )  # fmt: skip
        _write(path, following)
        raw.execute(MARK, [following.following])
        raw.execute(FORGET, [KEPT_DAYS])
    made = following._replace(
        number=following.following, following=None, is_last=is_last and not is_held
    )
    _write(path, made)


def lacks_the_end_of_waiting(raw: Connection) -> bool:
    """Return whether another beat has written down that no standby is waited for, in its file.

    Each file has to be younger than a standby that is promoted then.
    """
    mark = _read(settings.MARK_FILE)
    return mark is not None and mark.is_waited_for and not installation.was_waited_for(raw)


def keep_last(raw: Connection, *, living_seconds: int) -> None:
    """Make the mark of beat's end; it is the last one if no other process lives.

    :param living_seconds: a process that was seen within this time lives.
    :raises ImproperlyConfigured: as `keep`.
    """
    [others] = raw.execute(OTHERS, [living_seconds]).fetchone() or [1]
    keep(raw, is_last=not others)


def proves_that_nothing_is_lost(raw: Connection) -> bool:
    """Return whether this host's file has the last mark of all, and the database has it too."""
    mark = _read(settings.MARK_FILE)
    own = raw.execute(IDENTITY).fetchone()
    newest = raw.execute(NEWEST).fetchone()
    is_last = mark is not None and mark.is_last
    return is_last and own == (mark.installation,) and newest == (mark.number,)  # type: ignore[union-attr]


def spend_last() -> None:
    """Let the mark in this host's file be the last one no more: what it proves, it proves once.

    Another copy of the same moment lacks what is done from now on.

    :raises ImproperlyConfigured: the file cannot be written.
    """
    if mark := _read(settings.MARK_FILE):
        _write(settings.MARK_FILE, mark._replace(is_last=False))


def _hold_a_copy(raw: Connection, mark: Mark | None) -> None:
    if own := raw.execute(IDENTITY).fetchone():
        installation.hold_if_moved(raw)
        _require_own(mark, own[0])
        _hold_if_contradicted(raw, mark)


def _hold_if_contradicted(raw: Connection, mark: Mark | None) -> None:
    if reason := _contradiction(raw, mark):
        installation.hold(raw, reason)


def _contradiction(raw: Connection, mark: Mark | None) -> str | None:
    if mark is None:
        return NO_FILE
    numbers = [number for number in (mark.number, mark.following) if number]
    if mark.following and not mark.is_waited_for and installation.has_moved(raw):
        # The server that has it may have gone on alone: the one before it proves nothing here.
        numbers = [mark.following]
    if raw.execute(KNOWN, [numbers]).fetchone() or _is_forgotten(raw, mark):
        return None
    return YOUNGER


def _newest_that_is_there(raw: Connection, mark: Mark) -> str | None:
    """Return the number that was being made as beat died, or the connection, if it was made."""
    is_there = raw.execute(KNOWN, [[mark.following]]).fetchone() if mark.following else None
    return mark.following if is_there else mark.number


def _is_forgotten(raw: Connection, mark: Mark) -> bool:
    """Return whether the file is of a time whose marks the database keeps no more."""
    [oldest] = raw.execute(OLDEST).fetchone() or [None]
    return oldest is not None and datetime.fromisoformat(mark.made_at) < oldest


def _require_own(mark: Mark | None, identity: str) -> None:
    if mark and mark.installation != identity:
        raise ImproperlyConfigured(
            f"{settings.MARK_FILE} has the mark of another installation: set MARK_FILE to a file "
            "of this one alone. If the other one is gone, delete the file."
        )


def _read(path: Path) -> Mark | None:
    try:
        content: Any = json.loads(path.read_bytes())
        mark = Mark(**content)
        datetime.fromisoformat(mark.made_at)
    except (OSError, ValueError, TypeError):
        return None
    return mark


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
