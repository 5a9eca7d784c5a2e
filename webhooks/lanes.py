"""Lanes: who may send which delivery, one after the other per object (architecture 4).

A lane's row is locked before what is in it is read or changed. Those that others hold are
skipped: a change of a payment, which plans its events, must never wait in a circle, nor
anybody's deliveries for somebody else's long change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from uuid import uuid4

import structlog
from django.db import transaction

from core import clock, statements
from core.statements import array
from webhooks import outcomes, signing_secrets, turns, wakeups
from webhooks.exchange import Answer, Claimed, Lease
from webhooks.moments import Moment

# Deliveries per claim: transactions stay short, and what is claimed is soon under way.
CLAIM_MAX = 28

log = structlog.get_logger(__name__)

# A statement of its own: what was put into a lane before it was locked is seen only now.
HEADS = """
SELECT lane.id, head.id, endpoint.merchant_id, endpoint.id, head.event_id, endpoint.url,
    head.attempt, lane.is_resend,
    endpoint.failures_in_a_row >= %(degraded_after)s
        OR coalesce(endpoint.slow_until > now(), false),
    event.body
FROM webhooks_lane AS lane
JOIN webhooks_endpoint AS endpoint ON endpoint.id = lane.endpoint_id
CROSS JOIN LATERAL (
    SELECT id, event_id, attempt FROM webhooks_delivery
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


def claim(
    *, slots: int, degraded_slots: int, under_way: Mapping[str, int] = MappingProxyType({})
) -> list[Claimed]:
    """Take what may be sent now and keep it from others until its lease is over (real time).

    28 deliveries at most: call it again while it returns any. Endpoints take turns.

    :param slots: how many deliveries the caller can make.
    :param degraded_slots: how many of them may go to endpoints that keep failing, or that take
        long to answer.
    :param under_way: how many deliveries of each merchant this process makes already.
    """
    slots = min(slots, CLAIM_MAX)
    # Before the transaction, whose beginning is what PostgreSQL counts a lease from.
    since = Moment.now()
    return _claim(since, slots, degraded_slots, under_way) if slots > 0 else []


def finish(answers: Sequence[Answer]) -> list[Answer]:
    """Write down how attempts went, and when what comes next is due.

    Whose lease was taken over in the meantime writes nothing.

    :return: what could not be written yet, for others hold the lane or the endpoint: give it
        again in a moment.
    """
    by_lease = {answer.claimed.lease: answer for answer in answers}
    held = _change(by_lease, lambda leases: outcomes.write([by_lease[lease] for lease in leases]))
    return [answer for answer in answers if answer.claimed.lease in held]


def release(claimed: Sequence[Claimed]) -> list[Claimed]:
    """Give leases back, with no attempt spent, so that others need not wait for their end.

    :return: what others hold: give it again in a moment.
    """
    held = _change([one.lease for one in claimed], _free)
    if len(held) < len(claimed):
        wakeups.wake()
    return [one for one in claimed if one.lease in held]


# Durable, although a lost lease would lose no delivery: after a crash of the database somebody
# else would take the lane while this process still sends, and go on to what comes behind.
@transaction.atomic(durable=True)
def _claim(
    since: Moment, slots: int, degraded_slots: int, under_way: Mapping[str, int]
) -> list[Claimed]:
    now, lease_id = clock.now(), uuid4()
    statements.use_indexes()
    lanes = turns.take(
        now, lease_id, slots=slots, degraded_slots=degraded_slots, under_way=under_way
    )
    if not lanes:
        return []
    heads = {"lanes": array(lanes), "degraded_after": turns.DEGRADED_AFTER_FAILURES}
    rows = statements.rows(HEADS, heads)
    if len(rows) < len(lanes):
        log.error("webhook_lane_without_delivery", count=len(lanes) - len(rows))
    secrets = signing_secrets.open_for([row[3] for row in rows], now)
    return [
        Claimed(
            Lease(lane_id, lease_id), since, *facts,
            body=bytes(body), secrets=secrets.get(facts[2], ()),
        )
        for lane_id, *facts, body in rows
    ]  # fmt: skip


# --- With the lease's lanes in hand -----------------------------------------------------------


@transaction.atomic(durable=True)
def _change(
    leases: Collection[Lease], change: Callable[[Sequence[Lease]], Sequence[int]]
) -> set[Lease]:
    """Lock the lanes whose lease is still the caller's, and change them.

    :param change: returns the lanes that it changed, and thereby took the lease from.
    :return: the leases that are still the caller's, on lanes held by others.
    """
    asked = {
        "lanes": array(lease.lane_id for lease in leases),
        "leases": array(lease.id for lease in leases),
    }
    statements.use_indexes()
    mine = [Lease(*row) for row in statements.rows(LOCK, asked)]
    changed = change(mine) if mine else []
    if len(changed) == len(leases):
        return set()
    return {Lease(*row) for row in statements.rows(STILL_MINE, asked)}


def _free(leases: Sequence[Lease]) -> Sequence[int]:
    lanes = [lease.lane_id for lease in leases]
    statements.run(FREE, {"lanes": array(lanes)})
    return lanes
