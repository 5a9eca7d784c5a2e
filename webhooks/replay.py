"""Replay: what an endpoint missed is put before what is new, object by object (contract 9)."""

import time
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import structlog
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from webhooks import owed, wakeups
from webhooks.models import Endpoint
from webhooks.owed import Replay, Taken

# A run is short, so that a stop never waits for it, and what is to be stopped has its turn.
RUN_SECONDS = 0.5
# A transaction that has written deliveries and is still open after so long is told of.
WARN_AFTER_SECONDS = 30
# Until the job has seen the request's change, and with it which transactions have not.
ASKED = 0

log = structlog.get_logger(__name__)

REPLAYING = "SELECT id FROM webhooks_endpoint WHERE replay_xid IS NOT NULL ORDER BY id"

# Whoever holds the endpoint is changing it, or doing just this. A lane that a change of a
# payment holds is waited for briefly: far less than what the database takes for a deadlock.
HOLD = """
SELECT merchant_id, replay_xid, replay_since, enabled_events,
    set_config('lock_timeout', '200ms', true)
FROM webhooks_endpoint
WHERE id = %(endpoint)s AND replay_xid IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
"""

# Who planned while the endpoint was not enabled had an id before that, from writing the event,
# and this transaction gets its own only now that the endpoint is seen to be enabled. The asking
# request's own id would not do: a younger transaction may have planned before that one was
# committed.
SET_HORIZON = """
UPDATE webhooks_endpoint SET replay_xid = pg_current_xact_id()::text::bigint
WHERE id = %(endpoint)s RETURNING replay_xid
"""

# Of those with an id before the horizon only who has planned matters, not whoever writes
# something anywhere in the cluster. PostgreSQL locks the tables that a statement writes to
# before it takes the snapshot that the statement reads by (READ COMMITTED: our connections know
# nothing else), and lets go when the transaction is over and all see what it did. So who saw
# the endpoint as not enabled held this lock before that, and holds it as long as it runs. Who
# ends between the snapshot and the look at the locks is seen by the next statement.
STILL_PLANNING = """
SELECT planning.pid, coalesce(extract(epoch FROM clock_timestamp() - activity.xact_start), 0)
FROM pg_snapshot_xip(pg_current_snapshot()) AS running (id)
JOIN pg_locks AS named ON named.locktype = 'transactionid' AND named.granted
    AND named.mode = 'ExclusiveLock' AND named.transactionid = running.id::xid
JOIN pg_locks AS planning ON planning.virtualtransaction = named.virtualtransaction
    AND planning.locktype = 'relation' AND planning.granted
    AND planning.mode = 'RowExclusiveLock'
    AND planning.relation = 'webhooks_delivery'::regclass
    AND planning.database = (SELECT oid FROM pg_database WHERE datname = current_database())
LEFT JOIN pg_stat_activity AS activity ON activity.pid = planning.pid
WHERE running.id < %(horizon)s::text::xid8
"""

OPEN = """
UPDATE webhooks_endpoint SET replay_xid = NULL, replay_since = NULL WHERE id = %(endpoint)s
"""


def start(endpoint: Endpoint, *, since: datetime | None) -> None:
    """Begin to send what the endpoint missed, in the caller's transaction, which holds it.

    Until `advance` has put it before what is new, nothing is sent to the endpoint.

    :param since: events recorded before (movable clock) are not looked at; None is no bound.
        A replay that is under way already keeps the earlier bound of the two.
    """
    if endpoint.replay_xid is not None:
        earlier = endpoint.replay_since
        since = min(since, earlier) if since and earlier else None
    endpoint.replay_xid, endpoint.replay_since = ASKED, since
    endpoint.save(update_fields=["replay_xid", "replay_since"])
    transaction.on_commit(wakeups.wake)


def advance() -> int:
    """Do the next piece of all replays; return how many deliveries were planned.

    In chunks, each a transaction of its own, for half a second: safe to break off, to run
    twice and beside itself. Endpoints take turns.
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
    """Go once through all that the endpoint missed; open it if nothing had to be left."""
    try:
        horizon = _horizon(endpoint_id)
        after, has_left = "", False
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
    """Return the replay's horizon, set now if it was only asked for.

    :raises Taken: the endpoint does not replay, or somebody holds it.
    """
    replay = _hold(endpoint_id)
    if replay.horizon != ASKED:
        return replay.horizon
    with connection.cursor() as cursor:
        cursor.execute(SET_HORIZON, {"endpoint": endpoint_id})
        [(horizon,)] = cursor.fetchall()
    return horizon


@transaction.atomic(durable=True)
def _chunk(endpoint_id: str, horizon: int, after: str) -> tuple[int, str | None, bool]:
    """Put what some objects owe before what is new.

    :return: how many deliveries were planned, the last object (None behind the last), and
        whether an object had to be left.
    :raises Taken: somebody holds the endpoint, or it is not this replay any more; or an
        event may not be seen yet.
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
    """Let deliveries go on: nothing that was missed is left."""
    _hold(endpoint_id, horizon)
    with connection.cursor() as cursor:
        cursor.execute(OPEN, {"endpoint": endpoint_id})
    transaction.on_commit(wakeups.wake)


def _hold(endpoint_id: str, horizon: int | None = None) -> Replay:
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"endpoint": endpoint_id})
        row = cursor.fetchone()
    # Disabled and enabled meanwhile, it is another replay, with more to be missed.
    if row is None or horizon not in (None, row[1]):
        raise Taken
    merchant_id, current, since, types, _timeout = row
    return Replay(endpoint_id, merchant_id, current, since, types)


def _require_all_committed(endpoint_id: str, horizon: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(STILL_PLANNING, {"horizon": horizon})
        planning = cursor.fetchall()
    for pid, seconds in planning:
        if seconds > WARN_AFTER_SECONDS:
            _warn_once(endpoint_id, horizon, pid)
    if planning:
        raise Taken


@lru_cache(maxsize=256)
def _warn_once(endpoint_id: str, _horizon: int, pid: int) -> None:
    log.warning("webhook_replay_waits_for_transaction", endpoint=endpoint_id, pid=pid)
