"""Lanes: leases by which one process at a time sends an object's events in order (architecture 4).

A lane's row is locked before its deliveries are read or changed. Lanes that another transaction
holds are skipped. Otherwise a payment's change, which plans deliveries in several lanes, could
deadlock with a claim, and one long transaction would hold up the deliveries of all merchants.
"""

from collections.abc import Callable, Collection, Sequence
from uuid import uuid4

import structlog
from django.db import transaction

from core import clock, prepared
from core.prepared import array
from webhooks import signing_secrets
from webhooks.delivery import fairness, outcomes, wakeups
from webhooks.delivery.messages import Answer, Capacity, Claimed, Lease
from webhooks.delivery.moments import Moment

# Deliveries per claim: few enough that its transaction is short and all of them are sent soon.
CLAIM_MAX = 28

log = structlog.get_logger(__name__)

# Apart from the statement that leases the lanes: only a later one sees deliveries that were planned
# while that one waited for a lock.
HEADS = """
SELECT lane.id, head.id, endpoint.merchant_id, endpoint.id, head.event_id, endpoint.url,
    head.attempt, head.created_at, head.scheduled_at, lane.is_resend,
    endpoint.failures_in_a_row >= %(degraded_after)s::int
        OR coalesce(endpoint.slow_until > now(), false),
    event.body
FROM webhooks_lane AS lane
JOIN webhooks_endpoint AS endpoint ON endpoint.id = lane.endpoint_id
CROSS JOIN LATERAL (
    SELECT id, event_id, attempt, created_at, scheduled_at FROM webhooks_delivery
    WHERE endpoint_id = lane.endpoint_id AND lane_key = lane.key AND status = 'pending'
    ORDER BY sequence LIMIT 1
) AS head
JOIN events_event AS event ON event.id = head.event_id
WHERE lane.id = ANY(%(lanes)s::bigint[])
"""

LOCK = """
SELECT mine.id, mine.lease_id FROM webhooks_lane AS lane
JOIN unnest(%(lanes)s::bigint[], %(leases)s::uuid[]) AS mine (id, lease_id)
    ON lane.id = mine.id AND lane.lease_id = mine.lease_id
WHERE lane.id = ANY(%(lanes)s::bigint[])
FOR UPDATE OF lane SKIP LOCKED
"""

STILL_MINE = """
SELECT mine.id, mine.lease_id FROM webhooks_lane AS lane
JOIN unnest(%(lanes)s::bigint[], %(leases)s::uuid[]) AS mine (id, lease_id)
    ON lane.id = mine.id AND lane.lease_id = mine.lease_id
WHERE lane.id = ANY(%(lanes)s::bigint[])
"""

FREE = """
UPDATE webhooks_lane SET lease_id = NULL, leased_until = NULL WHERE id = ANY(%(lanes)s::bigint[])
"""


def claim(capacity: Capacity) -> list[Claimed]:
    """Lease due lanes and return the first delivery of each; no other process can take them.

    A lease lasts `WEBHOOK_LEASE_SECONDS` of real time. A claim returns at most 28 deliveries: call
    it again while it returns any. Endpoints take turns.
    """
    # Before the transaction, because PostgreSQL counts a lease from the transaction's beginning.
    since = Moment.now()
    capacity = capacity._replace(slots=min(capacity.slots, CLAIM_MAX))
    return _claim(since, capacity) if capacity.slots > 0 else []


def finish(answers: Sequence[Answer]) -> list[Answer]:
    """Write answers down, and when the next attempt or the lane's next delivery is due.

    Answers whose lease another process has taken over are dropped.

    :return: the answers that could not be written yet, because another transaction holds the lane
        or the endpoint: the caller passes them again in its next round.
    """
    by_lease = {answer.claimed.lease: answer for answer in answers}
    held = _change(by_lease, lambda leases: outcomes.write([by_lease[lease] for lease in leases]))
    return [answer for answer in answers if answer.claimed.lease in held]


def release(claimed: Sequence[Claimed]) -> list[Claimed]:
    """Give leases back without spending an attempt, so that the lanes can be claimed at once.

    :return: the deliveries whose lane another transaction holds: the caller passes them again in
        its next round.
    """
    held = _change([one.lease for one in claimed], _free)
    if len(held) < len(claimed):
        wakeups.wake()
    return [one for one in claimed if one.lease in held]


# The commit waits for the disk, although a lost lease would lose no delivery. After a crash of the
# database another process would lease the lane while this one still sends, and would overtake it
# with the lane's next delivery.
@transaction.atomic(durable=True)
def _claim(since: Moment, capacity: Capacity) -> list[Claimed]:
    now, lease_id = clock.now(), uuid4()
    prepared.use_indexes()
    lanes = fairness.take(now, lease_id, capacity)
    if not lanes:
        return []
    heads = {"lanes": array(lanes), "degraded_after": fairness.DEGRADED_AFTER_FAILURES}
    rows = prepared.rows(HEADS, heads)
    if len(rows) < len(lanes):
        log.error("webhook_lane_without_delivery", count=len(lanes) - len(rows))
    secrets = signing_secrets.open_for([row[3] for row in rows], now)
    return [
        Claimed(
            Lease(lane_id, lease_id), since, *(*facts, bytes(body), secrets.get(facts[2], ()))
        )
        for lane_id, *facts, body in rows
    ]  # fmt: skip


# --- Lanes that the caller has leased ---------------------------------------------------------


@transaction.atomic(durable=True)
def _change(
    leases: Collection[Lease], change: Callable[[Sequence[Lease]], Sequence[int]]
) -> set[Lease]:
    """Lock the lanes whose lease the caller still has, and change them.

    :param change: ends the leases of lanes that are locked; returns the ids of these lanes.
    :return: the leases that the caller still has, because another transaction holds the lane or
        the endpoint.
    """
    values = {
        "lanes": array(lease.lane_id for lease in leases),
        "leases": array(lease.id for lease in leases),
    }
    prepared.use_indexes()
    mine = [Lease(*row) for row in prepared.rows(LOCK, values)]
    changed = change(mine) if mine else []
    if len(changed) == len(leases):
        return set()
    return {Lease(*row) for row in prepared.rows(STILL_MINE, values)}


def _free(leases: Sequence[Lease]) -> Sequence[int]:
    lanes = [lease.lane_id for lease in leases]
    prepared.run(FREE, {"lanes": array(lanes)})
    return lanes
