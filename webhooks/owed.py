"""What a replay owes an endpoint, object by object: found, and put before what is new."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection

from core import clock, ids

# Objects per transaction.
CHUNK = 100

# By the index of missed deliveries, from where the last chunk ended.
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

# From the first missed one to the newest, so that the last thing received is the newest state.
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

# A lane that was free when it was looked at may have been leased since: then it is not counted.
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
INSERT INTO webhooks_lane (endpoint_id, key, open_count, is_resend, due_at)
SELECT %(endpoint)s, lane_key, count(*), false, %(now)s
FROM planned GROUP BY lane_key ORDER BY lane_key
ON CONFLICT (endpoint_id, key) DO UPDATE
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
    """Somebody has what this chunk needs: the next run takes it up."""


class Replay(NamedTuple):
    """One endpoint's replay, as the endpoint's locked row says.

    :param horizon: what transactions below it recorded may not be seen yet.
    """

    endpoint_id: str
    merchant_id: str
    horizon: int
    since: datetime | None
    types: list[str]


def missed(replay: Replay, after: str) -> dict[str, int]:
    """Return the next objects with the first sequence that each one missed."""
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
    """Return the objects of which nothing is under way, their lanes locked."""
    asked = {"endpoint": replay.endpoint_id, "keys": keys}
    with connection.cursor() as cursor:
        cursor.execute(LANES, asked)
        held = {key for key, is_leased in cursor.fetchall() if not is_leased}
        cursor.execute(LANE_KEYS, asked)
        others = {key for (key,) in cursor.fetchall()} - held
    return [key for key in keys if key not in others]


def plan(replay: Replay, firsts: dict[str, int]) -> int:
    """Plan each object's events from the first that it missed on; return how many it were.

    :raises Taken: a lane was leased meanwhile.
    """
    asked = {
        "endpoint": replay.endpoint_id,
        "merchant": replay.merchant_id,
        "types": replay.types,
        "keys": list(firsts),
        "firsts": list(firsts.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(OWED, asked)
        owed = cursor.fetchall()
        events = [event_id for event_id, _key in owed]
        new_ids = [ids.new("whd") for _ in events]
        cursor.execute(PLAN, {**asked, "ids": new_ids, "events": events, "now": clock.now()})
        if cursor.rowcount < len({key for _event_id, key in owed}):
            raise Taken
        cursor.execute(TAKEN_UP, asked)
    return len(owed)
