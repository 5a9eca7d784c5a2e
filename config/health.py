"""Health: whether this process answers (`/livez`), and whether it can serve payments (`/readyz`).

Both answer within a second, whatever hangs: the questions are asked by a thread of their own, on a
connection of their own, so that they take none from payments. Who asks meanwhile shares the look
and its patience: requests for readiness have one thread, and no wait there adds to another.
"""

import time
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from typing import Literal, NamedTuple, cast

import structlog
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from psycopg import Connection, connect
from psycopg.errors import (
    ConfigurationLimitExceeded,
    DiskFull,
    OperationalError,
    UndefinedTable,
)

from core import certificates, keyring, redis
from core.once import once
from core.release import own_migrations

# So long after a look began it is answered, without those who have not answered.
PATIENCE_SECONDS = 0.8
# So long an answer counts: anybody may ask, and each look costs a connection.
FRESH_SECONDS = 0.5
# A look that hangs ends then, so that the next one finds a database that is back.
SILENCE_MS = 5_000
SEAL_CONTEXT = "readyz"

# A sort of some 160 KB in 64 KB of memory: it needs a file, as a full disk shows, and leaves none.
ROOM = (
    "SELECT current_setting('transaction_read_only') = 'on', count(*) FROM generate_series(1, %s)"
)
ROWS_THAT_NEED_A_FILE = 5_000
MEMORY = "SET LOCAL work_mem = '64kB'"
APPLIED = "SELECT app, name FROM django_migrations"

Part = Literal["key_ring", "redis", "database", "migrations"]
Finding = Literal["ok", "no_answer", "away", "broken", "read_only", "full", "not_applied"]
# Redis may be away at any time: it is shown, and does not count.
COUNTING: tuple[Part, ...] = ("key_ring", "database", "migrations")
PARTS: tuple[Part, ...] = ("key_ring", "redis", "database", "migrations")

log = structlog.get_logger(__name__)


@csrf_exempt  # Only what may change something has to bring a token; a wrong method is a 405.
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer that this process answers; a supervisor starts one again that does not."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer a load balancer: 200 if requests may come here, else 503; each part in the body."""
    found = look()
    is_ready = all(found[part] == "ok" for part in COUNTING)
    status = "ok" if is_ready else "unavailable"
    return JsonResponse({"status": status, "checks": found}, status=200 if is_ready else 503)


Findings = dict[Part, Finding]


def look() -> Findings:
    """Return what each part of readiness is now, within a second."""
    return _readiness().look()


def prepare() -> None:
    """Read the migrations of this release now, so that the first look is in time."""
    own_migrations()


class Look(NamedTuple):
    """A look at all parts: what is found so far, and when it was over."""

    began_at: float
    found: Findings
    over_at: Future[float]

    def is_fresh(self) -> bool:
        # From its end on: those who waited in line for a slow one share it.
        over_at = self.over_at
        return not over_at.done() or time.monotonic() - over_at.result() < FRESH_SECONDS

    def wait(self) -> None:
        """Wait for its end, as long as a look may take that began when this one did."""
        left = self.began_at + PATIENCE_SECONDS - time.monotonic()
        with suppress(TimeoutError):
            self.over_at.result(max(0.0, left))


class Readiness:
    """The looks of this process: one at a time, shared by all who ask meanwhile."""

    def __init__(self) -> None:
        self._look: Look | None = None
        self._lock = Lock()
        self._said: Findings = {}

    def look(self) -> Findings:
        """Return what each part is; one that has not answered in time is `no_answer`."""
        look = self._current()
        look.wait()
        found = dict(look.found)
        if found != self._said:
            self._said = found
            log.info("readiness_changed", **found)
        return found

    def _current(self) -> Look:
        with self._lock:
            if self._look is None or not self._look.is_fresh():
                nothing = cast(Findings, dict.fromkeys(PARTS, "no_answer"))
                self._look = Look(time.monotonic(), nothing, Future())
                # No pool's thread: the process's end would wait for one that hangs.
                Thread(target=_ask_all, args=[self._look], name="readiness", daemon=True).start()
            return self._look


@once
def _readiness() -> Readiness:
    return Readiness()


def _ask_all(look: Look) -> None:
    try:
        look.found["key_ring"] = _key_ring()
        look.found["redis"] = _redis()
        look.found.update(_database())
    finally:
        look.over_at.set_result(time.monotonic())


def _key_ring() -> Finding:
    ring = keyring.ring()
    try:
        ring.verify(ring.seal(b"ready", context=SEAL_CONTEXT), context=SEAL_CONTEXT)
    except Exception:
        log.exception("key_ring_broken")
        return "broken"
    return "ok"


def _redis() -> Finding:
    try:
        redis.call(lambda client: client.ping())
    except redis.Away as problem:
        log.info("redis_away", certificate=certificates.fault(problem))
        return "away"
    return "ok"


def _database() -> Findings:
    try:
        with _connected() as raw:
            database = _room(raw)
            return {"database": database, "migrations": _migrations(raw)}
    except OperationalError as problem:
        fault = certificates.fault(problem)
        log.info("database_away", sqlstate=problem.sqlstate, certificate=fault)
        return {"database": "away"}


def _room(raw: Connection) -> Finding:
    try:
        with raw.transaction():
            raw.execute(MEMORY)
            row = raw.execute(ROOM, [ROWS_THAT_NEED_A_FILE]).fetchone()
    except (DiskFull, ConfigurationLimitExceeded):
        return "full"
    [is_read_only, _count] = row or [True, 0]
    return "read_only" if is_read_only else "ok"


def _migrations(raw: Connection) -> Finding:
    try:
        applied = set(raw.execute(APPLIED).fetchall())
    except UndefinedTable:
        return "not_applied"
    # Others may be there: of the next version, which is being installed beside this one.
    return "ok" if own_migrations() <= applied else "not_applied"


def _connected() -> Connection:
    params = connections["default"].get_connection_params()
    own = {"application_name": "health", "connect_timeout": 2, "tcp_user_timeout": SILENCE_MS}
    return connect(**{**params, **own}, autocommit=True)
