"""Stopping: pending deliveries of an endpoint that is not enabled are canceled, as missed ones."""

import time

import structlog
from django.db import connection, transaction

from webhooks.models import Endpoint

# Lanes per transaction.
CHUNK = 500
# A run is short: a process that ends never waits for it, and replays, in the same chore, have their
# turn.
RUN_SECONDS = 0.5
# The longest time that a request spends on canceling, at some 5,000 objects a second.
AHEAD_SECONDS = 10.0

log = structlog.get_logger(__name__)

# Finds endpoints with lanes to cancel. A failing endpoint keeps its resends, and requests under way
# go on to their end. The search begins with the lanes, one probe for each endpoint that has any,
# because deleted endpoints, which have none, may be many. It follows the order of an index:
# otherwise PostgreSQL, which expects endpoints to have many lanes, reads all of them.
WITH_LANES = """
WITH RECURSIVE lane AS (
    (SELECT endpoint_id FROM webhooks_lane ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT next.endpoint_id FROM webhooks_lane AS next
        WHERE next.endpoint_id > lane.endpoint_id ORDER BY next.endpoint_id LIMIT 1
    )
    FROM lane WHERE lane.endpoint_id IS NOT NULL
), stopped AS MATERIALIZED (
    SELECT endpoint.id, endpoint.status FROM lane CROSS JOIN LATERAL (
        SELECT id, status FROM webhooks_endpoint
        WHERE id = lane.endpoint_id AND status <> 'enabled' LIMIT 1
    ) AS endpoint
)
SELECT stopped.id FROM stopped CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_lane
    WHERE endpoint_id = stopped.id AND (stopped.status = 'disabled' OR NOT is_resend)
        AND (leased_until IS NULL OR leased_until <= now())
    ORDER BY due_at LIMIT 1
) AS stoppable
"""

# The lock keeps the endpoint from being enabled until the transaction ends: an enabled endpoint may
# have new deliveries, which must not be canceled. An endpoint that another transaction holds is
# being changed, and is left to the next run.
STILL_STOPPED = """
SELECT status FROM webhooks_endpoint
WHERE id = %(endpoint)s AND status <> 'enabled' FOR SHARE SKIP LOCKED
"""

LOCK = """
SELECT id FROM webhooks_lane
WHERE endpoint_id = %(endpoint)s AND (%(status)s = 'disabled' OR NOT is_resend)
    AND (leased_until IS NULL OR leased_until <= now())
LIMIT %(chunk)s FOR UPDATE SKIP LOCKED
"""

# A canceled resend does not count as missed: no replay owes it.
CANCEL = """
WITH gone AS (
    DELETE FROM webhooks_lane WHERE id = ANY(%(lanes)s) RETURNING endpoint_id, key
)
UPDATE webhooks_delivery SET status = 'canceled', is_missed = (trigger <> 'resend')
FROM gone
WHERE webhooks_delivery.endpoint_id = gone.endpoint_id
    AND webhooks_delivery.lane_key = gone.key AND webhooks_delivery.status = 'pending'
"""


def stop_pending() -> int:
    """Cancel pending deliveries of endpoints that are not enabled; return their number.

    Each chunk is a transaction of its own, for half a second: safe to interrupt, to run twice, and
    to run in several processes at once. Deliveries under way, and lanes that another transaction
    holds, are left to the next run.
    """
    stopped, ends_at = 0, time.monotonic() + RUN_SECONDS
    for endpoint_id in _with_lanes():
        while time.monotonic() < ends_at and (some := _stop_some(endpoint_id)):
            stopped += some
    if stopped:
        log.info("webhook_deliveries_stopped", count=stopped)
    return stopped


def stop_ahead(endpoint_id: str) -> None:
    """Cancel most pending deliveries of an endpoint that is about to be enabled.

    Each chunk is a transaction of its own, for 10 s at most. Cancels nothing if the endpoint is
    enabled.
    """
    ends_at = time.monotonic() + AHEAD_SECONDS
    while time.monotonic() < ends_at and _stop_some(endpoint_id):
        pass


def stop(endpoint: Endpoint) -> int:
    """Cancel an endpoint's pending deliveries, before it is enabled; return their number.

    Runs in the caller's transaction, which holds the endpoint: the caller first makes sure that
    there are few. Requests under way go on.
    """
    stopped = 0
    while some := _cancel_some(endpoint.id):
        stopped += some
    return stopped


def _with_lanes() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(WITH_LANES)
        return [endpoint_id for (endpoint_id,) in cursor.fetchall()]


@transaction.atomic(durable=True)
def _stop_some(endpoint_id: str) -> int:
    return _cancel_some(endpoint_id)


def _cancel_some(endpoint_id: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(STILL_STOPPED, {"endpoint": endpoint_id})
        row = cursor.fetchone()
        if row is None:
            return 0
        cursor.execute(LOCK, {"endpoint": endpoint_id, "status": row[0], "chunk": CHUNK})
        lanes = [lane_id for (lane_id,) in cursor.fetchall()]
        if not lanes:
            return 0
        cursor.execute(CANCEL, {"lanes": lanes})
        return cursor.rowcount
