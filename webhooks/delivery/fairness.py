"""Turns of endpoints: each claim searches on from the endpoint at which the last one ended.

If every claim began at the first id, endpoints that always have deliveries due would keep those
with higher ids waiting.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, repeat
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from core import prepared
from core.prepared import array
from webhooks.delivery.messages import Capacity
from webhooks.delivery.shares import DueEndpoint, Shares
from webhooks.models import Endpoint, Lane

# Deliveries under way per endpoint, over all processes; fewer to an endpoint that keeps failing.
LEASES_MAX = 8
LEASES_MAX_DEGRADED = 2
DEGRADED_AFTER_FAILURES = 5
# The number of endpoints that one statement looks at. The first stretch is short, because it
# fills the slots where many deliveries are due; later ones pass quickly over idle endpoints.
FIRST_STRETCH, STRETCH = 100, 1000
# Sorts behind every id.
BEHIND_ALL = "~"
LIMITS = {
    "degraded_after": DEGRADED_AFTER_FAILURES,
    "room": LEASES_MAX,
    "degraded_room": LEASES_MAX_DEGRADED,
}

# Returns the endpoints of a stretch that have a delivery to send, then the stretch's last id. Each
# endpoint costs one probe of an index, for a due lane without a lease. An endpoint that is being
# replayed, or is failing, gets resends only, whose lanes have the id of a delivery as their key.
# An advisory lock keeps each endpoint from other claims until this one ends, so that two claims
# never count the same room; the next statement counts the leases, and sees those of the claim
# before. Endpoints with room are sorted before they are probed: the probes end with the slots.
# NOT IN instead of a join: PostgreSQL looks ids up in a hash. It expects a join to match one row
# with one, and would compare every endpoint with every busy one.
SEARCH = """
WITH stretch AS MATERIALIZED (
    SELECT id, status = 'enabled' AND replay_xid IS NULL AS is_ready,
        failures_in_a_row >= %(degraded_after)s::int OR coalesce(slow_until > now(), false)
            AS is_degraded,
        merchant_id,
        CASE WHEN failures_in_a_row >= %(degraded_after)s::int
            THEN %(degraded_room)s::int ELSE %(room)s::int END AS room
    FROM webhooks_endpoint
    WHERE id > %(after)s::text AND id <= %(last)s::text AND status IN ('enabled', 'failing')
    ORDER BY id LIMIT %(stretch)s::int
), busy AS MATERIALIZED (
    SELECT endpoint_id, count(*) AS leases
    FROM webhooks_lane WHERE leased_until > now() GROUP BY endpoint_id
), roomy AS MATERIALIZED (
    SELECT * FROM stretch
    WHERE (NOT is_degraded OR %(degraded_slots)s::int > 0)
        AND id NOT IN (SELECT endpoint_id FROM busy WHERE leases >= %(room)s::int)
        AND (room > %(degraded_room)s::int
            OR id NOT IN (SELECT endpoint_id FROM busy WHERE leases >= %(degraded_room)s::int))
    ORDER BY id
), found AS MATERIALIZED (
    (SELECT roomy.* FROM roomy CROSS JOIN LATERAL (
        SELECT 1 FROM webhooks_lane
        WHERE endpoint_id = roomy.id AND due_at <= %(now)s::timestamptz
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY due_at LIMIT 1
     ) AS free
     WHERE roomy.is_ready LIMIT %(slots)s::int)
    UNION ALL
    (SELECT roomy.* FROM roomy CROSS JOIN LATERAL (
        SELECT 1 FROM webhooks_lane
        WHERE endpoint_id = roomy.id AND key >= 'whd_' AND key < 'whd`'
            AND due_at <= %(now)s::timestamptz
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY key LIMIT 1
     ) AS free
     WHERE NOT roomy.is_ready LIMIT %(slots)s::int)
    ORDER BY id LIMIT %(slots)s::int
)
SELECT id, merchant_id, is_ready, is_degraded, room,
    pg_try_advisory_xact_lock(hashtextextended(id, 0)), 1
FROM found
UNION ALL
SELECT max(id), '', false, false, 0, false, count(*) FROM stretch
"""

# Ids as an array instead of a join, here and elsewhere: PostgreSQL expects so many rows of a join
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
        WHERE asked.is_ready AND endpoint_id = asked.endpoint_id AND due_at <= %(now)s::timestamptz
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY due_at LIMIT asked.room FOR UPDATE SKIP LOCKED
    ) AS free
), by_hand AS MATERIALIZED (
    SELECT free.id FROM asked CROSS JOIN LATERAL (
        SELECT id FROM webhooks_lane
        WHERE NOT asked.is_ready AND endpoint_id = asked.endpoint_id
            AND key >= 'whd_' AND key < 'whd`' AND due_at <= %(now)s::timestamptz
            AND (leased_until IS NULL OR leased_until <= now())
        ORDER BY key LIMIT asked.room FOR UPDATE SKIP LOCKED
    ) AS free
), chosen AS MATERIALIZED (
    SELECT id FROM in_order UNION ALL SELECT id FROM by_hand LIMIT %(slots)s::int
)
UPDATE webhooks_lane
SET lease_id = %(lease)s::uuid, leased_until = now() + %(seconds)s::float8 * interval '1 second'
WHERE id = ANY(ARRAY(SELECT id FROM chosen))
RETURNING id, endpoint_id
"""


@dataclass(slots=True)
class _Round:
    """The memory of this process between two claims.

    :param after: the id of the endpoint at which the last search ended; the next one begins with
        the endpoint behind it.
    """

    after: str = ""
    shares: Shares = field(default_factory=Shares)


_round = _Round()


def take(now: datetime, lease_id: UUID, capacity: Capacity) -> list[int]:
    """Lease lanes in the caller's transaction and return their ids, none if nothing is due.

    :param now: in the movable clock; the lease itself is in real time.
    """
    for found in _all_round(now, capacity):
        shares = _round.shares.of(found, capacity.degraded_slots, capacity.under_way)
        lanes = _lease(found, shares, now, lease_id, capacity.slots) if any(shares) else []
        if lanes:
            return lanes
    return []


def unserved(now: datetime) -> QuerySet[Lane]:
    """Return the due lanes that a sender could take, of endpoints that no sender serves.

    An endpoint with a live lease is served: its other lanes wait for its receiver, as after a
    replay. Its room is no measure, for a prompt receiver leaves a part of it free at most moments.
    A sender that died serves until its leases end (`WEBHOOK_LEASE_SECONDS`).

    :param now: in the movable clock.
    """
    in_order = Q(endpoint__status=Endpoint.Status.ENABLED, endpoint__replay_xid=None)
    by_hand = Q(endpoint__status__in=["enabled", "failing"], is_resend=True)
    served = Lane.objects.filter(leased_until__gt=Now()).values("endpoint_id")
    due = Lane.objects.filter(in_order | by_hand, due_at__lte=now)
    return due.exclude(endpoint_id__in=served)


def _all_round(now: datetime, capacity: Capacity) -> Iterator[list[DueEndpoint]]:
    """Yield the due endpoints of each stretch, once round all ids from the last search's end."""
    begin, sizes = _round.after, chain([FIRST_STRETCH], repeat(STRETCH))
    values = {
        "now": now,
        "slots": capacity.slots,
        "degraded_slots": capacity.degraded_slots,
    }
    for last in (BEHIND_ALL, begin):
        is_end = last == ""
        while not is_end:
            found, is_end = _search({**values, "last": last, "stretch": next(sizes)})
            yield found
        _round.after = ""
    _round.after = begin


def _search(values: dict[str, Any]) -> tuple[list[DueEndpoint], bool]:
    """Return the next stretch's due endpoints, and whether the search has come to its end."""
    *found, (end, *_unused, size) = prepared.rows(
        SEARCH, {**values, **LIMITS, "after": _round.after}
    )
    is_full = len(found) == values["slots"]
    _round.after = found[-1][0] if is_full else end or _round.after
    is_end = size < values["stretch"] and not is_full
    return [DueEndpoint(*row[:5]) for row in found if row[5]], is_end


def _lease(
    found: list[DueEndpoint], shares: list[int], now: datetime, lease_id: UUID, slots: int
) -> list[int]:
    leased = prepared.rows(
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
        # The next search begins behind the last endpoint that got a lease.
        _round.after = max(endpoint_id for _lane_id, endpoint_id in leased)
    return [lane_id for lane_id, _endpoint_id in leased]
