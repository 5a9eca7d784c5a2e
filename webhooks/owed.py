"""Deliveries that a replay owes an endpoint: missed events are found and planned, per object."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection

from core import clock, ids

# Objects per transaction.
CHUNK = 100

# Walks the index of missed deliveries, from the last chunk's end.
MISSED = """
SELECT missed.lane_key, min(missed.sequence)
FROM webhooks_delivery AS missed JOIN events_event AS event ON event.id = missed.event_id
WHERE missed.endpoint_id = %(endpoint)s AND missed.is_missed AND missed.lane_key > %(after)s
    AND (%(types)s::text[] @> ARRAY['*'] OR missed.event_type = ANY(%(types)s))
    AND (%(since)s::timestamptz IS NULL
        OR missed.created_at >= %(since)s AND event.created_at >= %(since)s)
GROUP BY missed.lane_key ORDER BY missed.lane_key LIMIT %(chunk)s
"""

LANES = """
SELECT key, coalesce(leased_until > now(), false) FROM webhooks_lane
WHERE endpoint_id = %(endpoint)s AND key = ANY(%(keys)s) FOR UPDATE SKIP LOCKED
"""

LANE_KEYS = "SELECT key FROM webhooks_lane WHERE endpoint_id = %(endpoint)s AND key = ANY(%(keys)s)"

# An object's events from the first missed one to the newest, those sent before too: the endpoint
# receives the object's newest state last.
OWED = """
SELECT event.id, event.aggregate_id
FROM unnest(%(keys)s::text[], %(firsts)s::int[]) AS missed (key, first)
JOIN events_event AS event ON event.aggregate_id = missed.key AND event.sequence >= missed.first
WHERE event.merchant_id = %(merchant)s
    AND (%(types)s::text[] @> ARRAY['*'] OR event.type = ANY(%(types)s))
    AND NOT EXISTS (
        SELECT 1 FROM webhooks_delivery AS pending
        WHERE pending.endpoint_id = %(endpoint)s AND pending.lane_key = event.aggregate_id
            AND pending.sequence = event.sequence AND pending.status = 'pending'
    )
ORDER BY event.aggregate_id, event.sequence
FOR KEY SHARE OF event
"""

# A lane that `free` found may have been leased since. Then it is left as it is, and the row count
# shows that it is missing.
PLAN = """
WITH planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    SELECT owed.id, event.merchant_id, endpoint.id, event.id, event.type, endpoint.url,
        event.aggregate_id, event.aggregate_id, event.sequence, 'replay', 'pending', false,
        1, 0, %(now)s, %(now)s
    FROM unnest(%(ids)s::text[], %(events)s::text[]) AS owed (id, event_id)
    JOIN events_event AS event ON event.id = owed.event_id
    JOIN webhooks_endpoint AS endpoint ON endpoint.id = %(endpoint)s
    RETURNING lane_key
)
INSERT INTO webhooks_lane (merchant_id, endpoint_id, key, open_count, is_resend, due_at)
SELECT %(merchant)s, %(endpoint)s, lane_key, count(*), false, %(now)s
FROM planned GROUP BY lane_key ORDER BY lane_key
ON CONFLICT (endpoint_id, key, merchant_id) DO UPDATE
SET open_count = webhooks_lane.open_count + EXCLUDED.open_count, due_at = EXCLUDED.due_at,
    lease_id = NULL, leased_until = NULL
WHERE webhooks_lane.leased_until IS NULL OR webhooks_lane.leased_until <= now()
"""

TAKEN_UP = """
UPDATE webhooks_delivery SET is_missed = false
FROM unnest(%(keys)s::text[], %(firsts)s::int[]) AS missed (key, first)
WHERE endpoint_id = %(endpoint)s AND lane_key = missed.key AND sequence >= missed.first
    AND is_missed AND (%(types)s::text[] @> ARRAY['*'] OR event_type = ANY(%(types)s))
"""


class Taken(Exception):
    """Another transaction holds a row that this chunk needs: the next run tries again."""


class Replay(NamedTuple):
    """One endpoint's replay, as the endpoint's locked row describes it.

    :param horizon: a transaction's id; events of transactions below it may still be uncommitted.
    """

    endpoint_id: str
    merchant_id: str
    horizon: int
    since: datetime | None
    types: list[str]


def missed(replay: Replay, after: str) -> dict[str, int]:
    """Return up to 100 objects behind `after`, each with its first missed sequence."""
    with connection.cursor() as cursor:
        cursor.execute(
            MISSED,
            {
                "endpoint": replay.endpoint_id,
                "types": replay.types,
                "since": replay.since,
                "after": after,
                "chunk": CHUNK,
            },
        )
        return dict(cursor.fetchall())


def free(replay: Replay, keys: list[str]) -> list[str]:
    """Return the objects with no request under way, and lock their lanes."""
    values: dict[str, str | list[str]] = {"endpoint": replay.endpoint_id, "keys": keys}
    with connection.cursor() as cursor:
        cursor.execute(LANES, values)
        held = {key for key, is_leased in cursor.fetchall() if not is_leased}
        cursor.execute(LANE_KEYS, values)
        others = {key for (key,) in cursor.fetchall()} - held
    return [key for key in keys if key not in others]


def plan(replay: Replay, firsts: dict[str, int]) -> int:
    """Plan each object's events from its first missed one on; return the number of deliveries.

    :raises Taken: another process leased one of the lanes meanwhile.
    """
    values: dict[str, str | list[str] | list[int]] = {
        "endpoint": replay.endpoint_id,
        "merchant": replay.merchant_id,
        "types": replay.types,
        "keys": list(firsts),
        "firsts": list(firsts.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(OWED, values)
        owed = cursor.fetchall()
        events = [event_id for event_id, _key in owed]
        new_ids = [ids.new("whd") for _ in events]
        cursor.execute(PLAN, {**values, "ids": new_ids, "events": events, "now": clock.now()})
        if cursor.rowcount < len({key for _event_id, key in owed}):
            raise Taken
        cursor.execute(TAKEN_UP, values)
    return len(owed)
