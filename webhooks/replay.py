"""Replay: an endpoint gets the events that it missed before any new ones, in order (contract 9)."""

import time
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import structlog
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from webhooks import owed
from webhooks.delivery import wakeups
from webhooks.models import Endpoint
from webhooks.owed import Replay, Taken

# A run is short: a process that ends never waits for it, and canceling at stopped endpoints, which
# is in the same chore, has its turn.
RUN_SECONDS = 0.5
# A transaction that has written deliveries and has been waited for this long is logged.
WARN_AFTER_SECONDS = 30
# The horizon of a replay that is requested. The job replaces it by its own transaction id, the
# horizon below which events may still be uncommitted.
REQUESTED = 0

log = structlog.get_logger(__name__)

REPLAYING = "SELECT id FROM webhooks_endpoint WHERE replay_xid IS NOT NULL ORDER BY id"

# An endpoint that is locked is skipped: a request is changing it, or another process is replaying
# it. A lane that a payment's change has locked is waited for 200 ms, which is well below the second
# after which PostgreSQL looks for a deadlock.
HOLD = """
SELECT merchant_id, replay_xid, replay_since, enabled_events,
    set_config('lock_timeout', '200ms', true)
FROM webhooks_endpoint
WHERE id = %(endpoint)s AND replay_xid IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
"""

# A transaction that planned while the endpoint was not enabled had its id before that, from writing
# the event. This one gets its id only now, after it has seen the endpoint enabled, so its id is
# higher. The id of the request that asked for the replay would be too low: a younger transaction
# may have planned before that request was committed.
SET_HORIZON = """
UPDATE webhooks_endpoint SET replay_xid = pg_current_xact_id()::text::bigint
WHERE id = %(endpoint)s RETURNING replay_xid
"""

# Finds transactions below the horizon that have planned deliveries; other writers of the cluster
# do not matter. PostgreSQL locks the tables that a statement writes to before it takes the
# statement's snapshot (READ COMMITTED, as on all our connections). It releases these locks after
# the transaction has ended and its rows can be seen. So a transaction that saw the endpoint as not
# enabled had locked `webhooks_delivery` before that, and holds the lock until it ends. If it ends
# between the snapshot and the look at the locks, the next statement sees its deliveries.
STILL_PLANNING = """
SELECT planning.pid
FROM pg_snapshot_xip(pg_current_snapshot()) AS running (id)
JOIN pg_locks AS named ON named.locktype = 'transactionid' AND named.granted
    AND named.mode = 'ExclusiveLock' AND named.transactionid = running.id::xid
JOIN pg_locks AS planning ON planning.virtualtransaction = named.virtualtransaction
    AND planning.locktype = 'relation' AND planning.granted
    AND planning.mode = 'RowExclusiveLock'
    AND planning.relation = 'webhooks_delivery'::regclass
    AND planning.database = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE running.id < %(horizon)s::text::xid8
"""

OPEN = """
UPDATE webhooks_endpoint SET replay_xid = NULL, replay_since = NULL WHERE id = %(endpoint)s
"""


def start(endpoint: Endpoint, *, since: datetime | None) -> None:
    """Request a replay, in the caller's transaction, which has locked the endpoint.

    Nothing is sent to the endpoint until `advance` has planned all events that it missed.

    :param since: events recorded before (movable clock) are left out; None is no bound.
        A replay that is under way already keeps the earlier bound of the two.
    """
    if endpoint.replay_xid is not None:
        earlier = endpoint.replay_since
        since = min(since, earlier) if since and earlier else None
    endpoint.replay_xid, endpoint.replay_since = REQUESTED, since
    endpoint.save(update_fields=["replay_xid", "replay_since"])
    transaction.on_commit(wakeups.wake)


def begin_anew() -> int:
    """Forget the horizons of all replays: they are transactions of another server, or lost ones.

    In the caller's transaction. Each replay finds a horizon of its own and goes on.
    """
    return Endpoint.objects.filter(replay_xid__isnull=False).update(replay_xid=REQUESTED)


def advance() -> int:
    """Plan the next deliveries of all replays, for half a second; return their number.

    Each chunk is a transaction of its own: safe to interrupt, to run twice, and to run in several
    processes at once. Endpoints take turns.
    """
    ends_at, planned = time.monotonic() + RUN_SECONDS, 0
    passes = deque(_pass(endpoint_id) for endpoint_id in _replaying())
    while passes and time.monotonic() < ends_at:
        some = next(passes[0], None)
        if some is None:
            passes.popleft()
        else:
            planned += some
            passes.rotate(-1)
    if planned:
        log.info("webhook_deliveries_replayed", count=planned)
    return planned


def _replaying() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(REPLAYING)
        return [endpoint_id for (endpoint_id,) in cursor.fetchall()]


def _pass(endpoint_id: str) -> Iterator[int]:
    """Plan the endpoint's missed events chunk by chunk; end the replay if none had to be left."""
    try:
        horizon = _horizon(endpoint_id)
        after: str | None = ""
        has_left = False
        while after is not None:
            planned, after, left = _chunk(endpoint_id, horizon, after)
            has_left |= left
            yield planned
        if not has_left:
            _open(endpoint_id, horizon)
    except Taken:
        return
    except OperationalError as problem:
        if not isinstance(problem.__cause__, LockNotAvailable):
            raise


@transaction.atomic(durable=True)
def _horizon(endpoint_id: str) -> int:
    """Return the replay's horizon; set it now if the replay was only requested."""
    replay = _hold(endpoint_id)
    if replay.horizon != REQUESTED:
        return replay.horizon
    with connection.cursor() as cursor:
        cursor.execute(SET_HORIZON, {"endpoint": endpoint_id})
        [(horizon,)] = cursor.fetchall()
    return horizon


@transaction.atomic(durable=True)
def _chunk(endpoint_id: str, horizon: int, after: str) -> tuple[int, str | None, bool]:
    """Plan the missed events of the next objects, up to 100 of them.

    :return: the number of planned deliveries; the key of the last object, None if there was none;
        and whether an object had to be left for the next run.
    """
    replay = _hold(endpoint_id, horizon)
    _require_all_committed(endpoint_id, horizon)
    firsts = owed.missed(replay, after)
    if not firsts:
        return 0, None, False
    free = owed.free(replay, list(firsts))
    planned = owed.plan(replay, {key: firsts[key] for key in free}) if free else 0
    return planned, list(firsts)[-1], len(free) < len(firsts)


@transaction.atomic(durable=True)
def _open(endpoint_id: str, horizon: int) -> None:
    """End the replay, because no missed event is left: deliveries to the endpoint go on."""
    _hold(endpoint_id, horizon)
    with connection.cursor() as cursor:
        cursor.execute(OPEN, {"endpoint": endpoint_id})
    transaction.on_commit(wakeups.wake)


def _hold(endpoint_id: str, horizon: int | None = None) -> Replay:
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"endpoint": endpoint_id})
        row = cursor.fetchone()
    # If the endpoint was disabled and enabled meanwhile, this is another replay, of more events.
    if row is None or horizon not in (None, row[1]):
        raise Taken
    merchant_id, current, since, types, _timeout = row
    return Replay(endpoint_id, merchant_id, current, since, types)


def _require_all_committed(endpoint_id: str, horizon: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(STILL_PLANNING, {"horizon": horizon})
        planning = cursor.fetchall()
    for [pid] in planning:
        # PostgreSQL hides the age of another role's transaction (`pg_stat_activity.xact_start`).
        if time.monotonic() - _first_waited_at(endpoint_id, horizon, pid) > WARN_AFTER_SECONDS:
            _warn_once(endpoint_id, horizon, pid)
    if planning:
        raise Taken


@lru_cache(maxsize=256)
def _first_waited_at(_endpoint_id: str, _horizon: int, _pid: int) -> float:
    return time.monotonic()


@lru_cache(maxsize=256)
def _warn_once(endpoint_id: str, _horizon: int, pid: int) -> None:
    log.warning("webhook_replay_waits_for_transaction", endpoint=endpoint_id, pid=pid)
