"""Whose turn it is: endpoints go round, none waits because others always have something due."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, repeat
from typing import Any
from uuid import UUID

from django.conf import settings

from core import statements
from core.statements import array
from webhooks.shares import Found, Shares

# In flight per endpoint, over all processes; fewer to one that keeps failing.
LEASES_MAX = 8
LEASES_MAX_DEGRADED = 2
DEGRADED_AFTER_FAILURES = 5
# How many endpoints one statement looks at: few where much is due, then more at once.
FIRST_STRETCH, STRETCH = 100, 1000
# Sorts behind every id.
BEHIND_ALL = "~"
LIMITS = {
    "degraded_after": DEGRADED_AFTER_FAILURES,
    "room": LEASES_MAX,
    "degraded_room": LEASES_MAX_DEGRADED,
}

# The endpoints of a stretch that have something to send, then the stretch's end. One probe of
# an index each: due lanes of which one is free. An endpoint that is being replayed, or fails,
# has only what was asked for by hand, which lies in lanes with ids of deliveries for keys.
# Each is kept from other claims until the end of this one, so that two never count the same
# room; leases are counted in the next statement, which sees those of the claim before.
# What has room is sorted before it is probed, not after: then the probes end with the slots.
# NOT IN, and no join: PostgreSQL looks these up by their hash. It expects a join to be of one row
# with one, and would compare each endpoint with each that is busy.
SEARCH = """
WITH stretch AS MATERIALIZED (
    SELECT id, status = 'enabled' AND replay_xid IS NULL AS is_ready,
        failures_in_a_row >= %(degraded_after)s OR coalesce(slow_until > now(), false)
            AS is_degraded,
        merchant_id,
        CASE WHEN failures_in_a_row >= %(degraded_after)s
            THEN %(degraded_room)s ELSE %(room)s END AS room
    FROM webhooks_endpoint
    WHERE id > %(after)s AND id <= %(last)s AND status IN ('enabled', 'failing')
    ORDER BY id LIMIT %(stretch)s
), busy AS MATERIALIZED (
    SELECT endpoint_id, count(*) AS leases
    FROM webhooks_lane WHERE leased_until > now() GROUP BY endpoint_id
), roomy AS MATERIALIZED (
    SELECT * FROM stretch
    WHERE (NOT is_degraded OR %(degraded_slots)s > 0)
        AND id NOT IN (SELECT endpoint_id FROM busy WHERE leases >= %(room)s)
        AND (room > %(degraded_room)s
            OR id NOT IN (SELECT endpoint_id FROM busy WHERE leases >= %(degraded_room)s))
    ORDER BY id
), found AS MATERIALIZED (
    (SELECT roomy.* FROM roomy CROSS JOIN LATERAL (
        SELECT 1 FROM webhooks_lane
        WHERE endpoint_id = roomy.id AND due_at <= %(now)s
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY due_at LIMIT 1
     ) AS free
     WHERE roomy.is_ready LIMIT %(slots)s)
    UNION ALL
    (SELECT roomy.* FROM roomy CROSS JOIN LATERAL (
        SELECT 1 FROM webhooks_lane
        WHERE endpoint_id = roomy.id AND key >= 'whd_' AND key < 'whd`' AND due_at <= %(now)s
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY key LIMIT 1
     ) AS free
     WHERE NOT roomy.is_ready LIMIT %(slots)s)
    ORDER BY id LIMIT %(slots)s
)
SELECT id, merchant_id, is_ready, is_degraded, room,
    pg_try_advisory_xact_lock(hashtextextended(id, 0)), 1
FROM found
UNION ALL
SELECT max(id), '', false, false, 0, false, count(*) FROM stretch
"""

# An array of ids, here and elsewhere, instead of a join: of a join PostgreSQL expects so many rows
# that it may read the whole table.
LEASE = """
WITH busy AS MATERIALIZED (
    SELECT endpoint_id, count(*) AS leases FROM webhooks_lane
    WHERE leased_until > now() AND endpoint_id = ANY(%(endpoints)s::text[])
    GROUP BY endpoint_id
), asked AS MATERIALIZED (
    SELECT asked.endpoint_id, is_ready,
        least(greatest(room - coalesce(leases, 0), 0), share) AS room
    FROM unnest(%(endpoints)s::text[], %(rooms)s::int[], %(shares)s::int[],
            %(ready)s::boolean[])
        AS asked (endpoint_id, room, share, is_ready)
    LEFT JOIN busy USING (endpoint_id)
    ORDER BY asked.endpoint_id
), in_order AS MATERIALIZED (
    SELECT free.id FROM asked CROSS JOIN LATERAL (
        SELECT id FROM webhooks_lane
        WHERE asked.is_ready AND endpoint_id = asked.endpoint_id AND due_at <= %(now)s
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY due_at LIMIT asked.room FOR UPDATE SKIP LOCKED
    ) AS free
), by_hand AS MATERIALIZED (
    SELECT free.id FROM asked CROSS JOIN LATERAL (
        SELECT id FROM webhooks_lane
        WHERE NOT asked.is_ready AND endpoint_id = asked.endpoint_id
            AND key >= 'whd_' AND key < 'whd`' AND due_at <= %(now)s
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY key LIMIT asked.room FOR UPDATE SKIP LOCKED
    ) AS free
), chosen AS MATERIALIZED (
    SELECT id FROM in_order UNION ALL SELECT id FROM by_hand LIMIT %(slots)s
)
UPDATE webhooks_lane
SET lease_id = %(lease)s, leased_until = now() + %(seconds)s * interval '1 second'
WHERE id = ANY(ARRAY(SELECT id FROM chosen))
RETURNING id, endpoint_id
"""


@dataclass(slots=True)
class _Round:
    """What this process remembers of the claims before.

    :param after: where the last search ended: the next one begins with the endpoint after.
    """

    after: str = ""
    shares: Shares = field(default_factory=Shares)


_round = _Round()


def take(
    now: datetime,
    lease_id: UUID,
    *,
    slots: int,
    degraded_slots: int,
    under_way: Mapping[str, int],
) -> list[int]:
    """Lease lanes in the caller's transaction and return their ids, none if nothing is due.

    :param now: in the movable clock; the lease itself is in real time.
    :param degraded_slots: how many of the slots may go to endpoints that keep failing, or that
        take long to answer.
    :param under_way: how many deliveries of each merchant this process makes already.
    """
    for found in _all_round(now, slots, degraded_slots):
        shares = _round.shares.of(found, degraded_slots, under_way)
        lanes = _lease(found, shares, now, lease_id, slots) if any(shares) else []
        if lanes:
            return lanes
    return []


def _all_round(now: datetime, slots: int, degraded_slots: int) -> Iterator[list[Found]]:
    """Yield what is found from where the last search ended to its end, then from the start."""
    begin, sizes = _round.after, chain([FIRST_STRETCH], repeat(STRETCH))
    asked = {"now": now, "slots": slots, "degraded_slots": degraded_slots}
    for last in (BEHIND_ALL, begin):
        is_end = last == ""
        while not is_end:
            found, is_end = _search({**asked, "last": last, "stretch": next(sizes)})
            yield found
        _round.after = ""
    _round.after = begin


def _search(asked: dict[str, Any]) -> tuple[list[Found], bool]:
    """Return the next stretch's endpoints that have something due, and whether it was the last."""
    *found, (end, *_unused, size) = statements.rows(
        SEARCH, {**asked, **LIMITS, "after": _round.after}
    )
    is_full = len(found) == asked["slots"]
    _round.after = found[-1][0] if is_full else end or _round.after
    is_end = size < asked["stretch"] and not is_full
    return [Found(*row[:5]) for row in found if row[5]], is_end


def _lease(
    found: list[Found], shares: list[int], now: datetime, lease_id: UUID, slots: int
) -> list[int]:
    leased = statements.rows(
        LEASE,
        {
            "endpoints": array(endpoint.endpoint_id for endpoint in found),
            "rooms": array(endpoint.room for endpoint in found),
            "shares": array(shares),
            "ready": array(endpoint.is_ready for endpoint in found),
            "now": now,
            "slots": slots,
            "lease": lease_id,
            "seconds": settings.WEBHOOK_LEASE_SECONDS,
        },
    )
    if len(leased) == slots:
        # Those behind the last one served are first in the next search.
        _round.after = max(endpoint_id for _lane_id, endpoint_id in leased)
    return [lane_id for lane_id, _endpoint_id in leased]
