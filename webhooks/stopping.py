"""Stopping: what is still pending at an endpoint that is not enabled is canceled, as missed."""

import time

import structlog
from django.db import connection, transaction

from webhooks.models import Endpoint

# Lanes per transaction.
CHUNK = 500
# A run is short, for the same thread claims deliveries; the next one goes on.
RUN_SECONDS = 0.5

log = structlog.get_logger(__name__)

# A failing endpoint keeps what was asked for by hand. What is under way goes on to its end.
# In the order of an index: else PostgreSQL, which expects endpoints to have many lanes, reads all
# lanes for each of the endpoints that were ever deleted.
WITH_LANES = """
SELECT endpoint.id FROM webhooks_endpoint AS endpoint
CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_lane
    WHERE endpoint_id = endpoint.id AND (endpoint.status = 'disabled' OR NOT is_resend)
        AND (leased_until IS NULL OR leased_until <= now())
    ORDER BY due_at LIMIT 1
) AS lane
WHERE endpoint.status <> 'enabled'
"""

# Held until the end of the transaction: what is enabled meanwhile may have new events.
STILL_STOPPED = """
SELECT status FROM webhooks_endpoint WHERE id = %(endpoint)s AND status <> 'enabled' FOR SHARE
"""

LOCK = """
SELECT id FROM webhooks_lane
WHERE endpoint_id = %(endpoint)s AND (%(status)s = 'disabled' OR NOT is_resend)
    AND (leased_until IS NULL OR leased_until <= now())
LIMIT %(chunk)s FOR UPDATE SKIP LOCKED
"""

# A delivery asked for by hand was not missed when it is canceled: no replay owes it.
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
    """Cancel what is pending at endpoints that are not enabled; return how much it was.

    In chunks, each a transaction of its own, for half a second: safe to break off, to run
    twice and beside itself. What is under way or held by others is left to the next run.
    """
    stopped, ends_at = 0, time.monotonic() + RUN_SECONDS
    for endpoint_id in _with_lanes():
        while time.monotonic() < ends_at and (some := _stop_some(endpoint_id)):
            stopped += some
    if stopped:
        log.info("webhook_deliveries_stopped", count=stopped)
    return stopped


def stop(endpoint: Endpoint) -> int:
    """Cancel all that is pending at an endpoint before it is enabled; return how much it was.

    In the caller's transaction, which holds the endpoint. What is under way goes on.
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
    """Cancel one chunk and return how many deliveries it was."""
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
