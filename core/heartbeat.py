"""The heartbeat of a process: every 15 seconds it writes down that it lives, with which key ring.

A process reads its key ring once, so the file on its host may differ from what it seals with.
The row does (`core.models.Process`). It is written on a connection of its own, which is closed
again at once: a beat takes none from payments and waits for none. A database that is away costs
beats and nothing else. Imports no model: gunicorn begins it before there is a request.
"""

import atexit
import os
import socket
from collections.abc import Sequence
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Any, Literal, NamedTuple

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.timezone import now
from psycopg import Connection, Error, connect

from core import ids, installation, keyring, marks
from core.metrics import Gauge

ProcessKind = Literal["web", "worker", "sender", "beat", "rotation"]
# A rotation seals, too: one that still uses an older key may not be overtaken by a change.
KINDS: tuple[ProcessKind, ...] = ("web", "worker", "sender", "beat", "rotation")
BEAT_SECONDS = 15.0
# After a beat that the database did not take, or while beat has to look at a new primary.
RETRY_SECONDS = 2.0
# Of beat, where changes wait for its look at a new primary (SYNCHRONOUS_STANDBYS).
LOOK_SECONDS = 3.0
# A process that was seen within this time lives. Or will be: the database's clock may be put back.
LIVING_SECONDS = 60
# How long the row of a process stays that ended without a word: it tells which host had a key.
KEPT_DAYS = 7
# The end of a process waits so long for a beat that is under way.
PATIENCE_SECONDS = 5.0
# Of beat alone: the time of so many beats makes the next mark of the installation.
BEATS_OF_A_MARK = 4
# So far a host's clock may be from the database's: receivers of webhooks refuse old signatures.
APART_SECONDS = 5.0
# A connection whose other end is gone without a word ends then, so that the next beat has another.
SILENCE_MS = 10_000

BEAT = """
INSERT INTO core_process
    (id, kind, host, release, key_ids, primary_key_id, purpose_key_ids, retired_key_ids, started_at,
        seen_at)
VALUES (%(id)s, %(kind)s, %(host)s, %(release)s, %(key_ids)s, %(primary)s, %(of_purposes)s,
    %(retired)s, coalesce(%(started_at)s::timestamptz, statement_timestamp()),
    statement_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at RETURNING started_at, seen_at
"""
# Living processes that cannot open what this one seals, or seal what it cannot open; and the same
# of hashes. And those by whose ring a key is retired that this one makes hashes with.
STRANGERS = """
SELECT kind, host, key_ids, primary_key_id::text || purpose_key_ids::text[], retired_key_ids::text[]
FROM core_process
WHERE id <> %(id)s AND seen_at BETWEEN statement_timestamp() - make_interval(secs => %(living)s)
        AND statement_timestamp() + make_interval(secs => %(living)s)
    AND NOT ((primary_key_id::text || purpose_key_ids::text[]) <@ %(key_ids)s::text[]
        AND (%(primary)s::text || %(of_purposes)s::text[]) <@ key_ids::text[]
        AND NOT %(of_purposes)s::text[] && retired_key_ids::text[])
ORDER BY host, kind, id
"""
FORGET = (
    "DELETE FROM core_process WHERE seen_at < statement_timestamp() - make_interval(days => %s)"
)
END = "DELETE FROM core_process WHERE id = %s"

WRONG_CLOCKS = Gauge("pay_clocks_wrong", "Processes whose clock is not the database's.")

log = structlog.get_logger(__name__)

# Held during a beat, and by a fork: a child never inherits the middle of one.
_beating = Lock()
os.register_at_fork(
    before=_beating.acquire, after_in_parent=_beating.release, after_in_child=_beating.release
)


class Stranger(NamedTuple):
    """A living process whose key ring does not go with this one's.

    :param primary_ids: of the key that it seals with, and of those that it makes hashes with.
    """

    kind: str
    host: str
    key_ids: Sequence[str]
    primary_ids: Sequence[str]
    retired_ids: Sequence[str]

    def lacking(self, ring: keyring.KeyRing) -> str | None:
        """Return a key of the other process that a ring lacks; None if it is the other way."""
        return next((name for name in self.primary_ids if name not in ring.held), None)

    def lacked(self, ring: keyring.KeyRing) -> str | None:
        """Return a key that the ring seals or hashes with, and the other process lacks."""
        ours = (ring.primary, *ring.primaries.values())
        return next((name for name in ours if name not in self.key_ids), None)

    def retired(self, ring: keyring.KeyRing) -> str | None:
        """Return a key that the ring makes hashes with, and the other process has as retired."""
        return next((one for one in ring.primaries.values() if one in self.retired_ids), None)


class Heartbeat:
    """The row of this process, and the thread that keeps it fresh.

    :param parent: the process that this one was forked from; its row goes with the first beat.
    """

    def __init__(self, kind: ProcessKind, *, parent: "Heartbeat | None" = None) -> None:
        self.kind, self.id = kind, ids.new("proc")
        self._ring, self._pid, self._parent = keyring.ring(), os.getpid(), parent
        self._started_at: datetime | None = None  # When the database first heard of it.
        self._over = Event()
        self._thread: Thread | None = None
        self._is_silent = False
        self._strangers: list[Stranger] = []
        self._ahead_seconds = 0.0  # The database's clock, at least so far.
        self._is_clock_wrong = False
        self._beats = 0
        atexit.register(self.end)

    @property
    def is_known(self) -> bool:
        """Return whether the database has taken a beat."""
        return self._started_at is not None

    def beat(self) -> list[Stranger]:
        """Write the row and return the strangers; none if the database does not take it.

        :raises ImproperlyConfigured: beat cannot keep the file with the installation's mark.
        """
        row = {
            "id": self.id, "kind": self.kind, "host": socket.gethostname(),
            "release": settings.RELEASE, "key_ids": sorted(self._ring.held),
            "primary": self._ring.primary,
            "of_purposes": sorted(self._ring.primaries.values()),
            "retired": sorted(self._ring.retired),
            "started_at": self._started_at,
        }  # fmt: skip
        try:
            with _beating, _connected() as raw:
                self._write(raw, row)
                found = raw.execute(STRANGERS, {**row, "living": LIVING_SECONDS}).fetchall()
        except Error as problem:
            self._note_silence(problem)
            return []
        self._is_silent = False
        return [Stranger(*one) for one in found]

    def begin(self) -> None:
        """Beat in a thread from now on, until `end`."""
        self._thread = Thread(target=self._beat_on, name="heartbeat", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop beating and delete the row: other processes need not wait for one that has ended."""
        atexit.unregister(self.end)
        if self._pid != os.getpid() or self._over.is_set():
            return  # A child inherits what its parent does at its end.
        self._over.set()
        if self._thread:
            self._thread.join(PATIENCE_SECONDS)
            if self._thread.is_alive():
                return  # The database does not answer.
        try:
            with _beating, _connected() as raw:
                raw.execute(END, [self.id])
                if self.kind == "beat" and self.is_known:
                    marks.keep_last(raw, living_seconds=LIVING_SECONDS)
        except Error as problem:
            self._note_silence(problem)
        except ImproperlyConfigured as problem:
            _note_lost_mark(problem)

    def _beat_on(self) -> None:
        while not self._over.is_set():
            try:
                self._tell_of(self.beat())
                self._look_at_clock()
            except ImproperlyConfigured as problem:
                _note_lost_mark(problem)
            is_soon = self._is_silent or installation.waits_for_beat()
            self._over.wait(RETRY_SECONDS if is_soon else self._pause_seconds)

    @property
    def _pause_seconds(self) -> float:
        looks_often = self.kind == "beat" and settings.SYNCHRONOUS_STANDBYS
        return LOOK_SECONDS if looks_often else BEAT_SECONDS

    def _write(self, raw: Connection, row: dict[str, Any]) -> None:
        is_first = not self.is_known
        before = now()
        self._started_at, seen_at = raw.execute(BEAT, row).fetchone() or (None, before)
        late = (seen_at - now()).total_seconds()
        self._ahead_seconds = max(late, 0.0) or min((seen_at - before).total_seconds(), 0.0)
        if is_first:
            raw.execute(END, [self._parent and self._parent.id])
            raw.execute(FORGET, [KEPT_DAYS])
        self._look_at_installation(raw)

    def _look_at_installation(self, raw: Connection) -> None:
        """Hear whether the database is held; at the first beat, and of beat, find out.

        Each connection of beat may lead to another server: an old primary may be back.
        """
        at, self._beats = self._beats, self._beats + 1
        every = round(BEATS_OF_A_MARK * BEAT_SECONDS / self._pause_seconds)
        if self.kind == "beat" and (
            at % every == 0 or installation.is_for_beat(raw) or marks.lacks_the_end_of_waiting(raw)
        ):
            marks.keep(raw)
        elif at == 0 or self.kind == "beat":
            marks.compare(raw)
        installation.hear(raw)

    def _look_at_clock(self) -> None:
        is_wrong = abs(self._ahead_seconds) > APART_SECONDS
        if is_wrong and not self._is_clock_wrong:
            log.error("clocks_differ", database_ahead_seconds=round(self._ahead_seconds))
        self._is_clock_wrong = is_wrong
        with _beating:  # The metrics' library has a lock of its own.
            WRONG_CLOCKS.set(is_wrong)

    def _note_silence(self, problem: Error) -> None:
        if not self._is_silent:
            # Down, or not migrated yet: every request says so too.
            log.warning("heartbeat_missed", reason=type(problem).__name__)
        self._is_silent = True

    def _tell_of(self, strangers: list[Stranger]) -> None:
        for one in strangers:
            if one not in self._strangers:
                log.error(
                    "key_rings_differ", kind=one.kind, at_host=one.host,
                    they_seal_with=one.lacking(self._ring) or one.primary_ids[0],
                    we_seal_with=one.lacked(self._ring)
                    or one.retired(self._ring) or self._ring.primary,
                )  # fmt: skip
        self._strangers = strangers


def _note_lost_mark(problem: ImproperlyConfigured) -> None:
    """Log that the disk is full, say: the installation goes on, and its mark grows old."""
    log.error("installation_mark_not_kept", reason=str(problem))


def _connected() -> Connection:
    params = connections["default"].get_connection_params()
    own = {"application_name": "heartbeat", "tcp_user_timeout": SILENCE_MS}
    return connect(**{**params, **own}, autocommit=True)


# --- This process -----------------------------------------------------------------------------

_own: list[Heartbeat] = []


def write_down(kind: ProcessKind) -> list[Stranger]:
    """Write this process down, before it seals anything, and return the strangers it meets.

    The row counts for a minute: `begin` keeps it fresh.
    """
    _own[:] = [Heartbeat(kind)]
    return _own[0].beat()


def begin() -> None:
    """Keep the row of this process fresh; one that was forked gets a row of its own."""
    if _own and _own[0]._pid != os.getpid():
        _own[:] = [Heartbeat(_own[0].kind, parent=_own[0])]
    for heartbeat in _own:
        heartbeat.begin()


def is_known() -> bool:
    """Return whether the database has this process's row."""
    return any(heartbeat.is_known for heartbeat in _own)


def end() -> None:
    """Take this process's row away."""
    while _own:
        _own.pop().end()
