"""The health of endpoints: how deliveries went, when the next is due, what was missed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from core import clock
from merchants.models import Merchant
from webhooks.delivery.outcomes import DELAYS_SECONDS
from webhooks.models import Endpoint

# The attempts of an endpoint that are looked at, the newest ones: a million cost no more.
LOOKED_AT = 2_000
MISSED_MAX = WAITING_MAX = 10_000
SPAN = timedelta(hours=24)

# An array, and the endpoint in the order: else PostgreSQL walks all deliveries by their id for an
# endpoint that has few, where another one has most of them.
HEALTH = """
SELECT asked.id, recent.tried, recent.succeeded, recent.last_at, lane.due_at, missed.count,
    missed.since
FROM unnest(%(endpoints)s::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE attempted_at >= %(since)s) AS tried,
        count(*) FILTER (WHERE attempted_at >= %(since)s AND status = 'succeeded') AS succeeded,
        max(attempted_at) AS last_at
    FROM (
        SELECT attempted_at, status FROM webhooks_delivery WHERE endpoint_id = ANY(ARRAY[asked.id])
        ORDER BY endpoint_id DESC, id DESC LIMIT %(looked_at)s
    ) AS newest
) AS recent
CROSS JOIN LATERAL (
    SELECT min(due_at) AS due_at FROM webhooks_lane WHERE endpoint_id = asked.id
) AS lane
CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(created_at) AS since
    FROM (
        SELECT created_at FROM webhooks_delivery WHERE endpoint_id = asked.id AND is_missed
        ORDER BY lane_key, sequence LIMIT %(missed)s
    ) AS owed
) AS missed
"""

# By each endpoint's own index: an endpoint without deliveries must not make all others be read.
ANSWERED = """
EXISTS (
    SELECT FROM webhooks_endpoint AS known
    CROSS JOIN LATERAL (
        SELECT status FROM webhooks_delivery WHERE endpoint_id = known.id
        ORDER BY id DESC LIMIT %s
    ) AS newest
    WHERE known.merchant_id = %s AND known.deleted_at IS NULL
        AND newest.status = 'succeeded'
)
"""


class Health(NamedTuple):
    """How deliveries to an endpoint went.

    :param tried: attempts of the last 24 hours, among the newest 2,000.
    :param succeeded: those of them that were answered 2xx.
    :param last_at: the newest attempt (movable clock); None if none is among the newest 2,000.
    :param next_at: when the next one is due; None if nothing is pending.
    :param missed: events that the endpoint missed, counted to 10,001.
    :param missed_since: when the first of those was missed, if all could be counted.
    """

    tried: int
    succeeded: int
    last_at: datetime | None
    next_at: datetime | None
    missed: int
    missed_since: datetime | None

    @property
    def success_percent(self) -> int | None:
        """Return the share of the last 24 hours that succeeded, rounded down; None without any."""
        return self.succeeded * 100 // self.tried if self.tried else None

    @property
    def is_missed_capped(self) -> bool:
        return self.missed > MISSED_MAX


def of(endpoints: Sequence[Endpoint]) -> dict[str, Health]:
    """Return the health of endpoints, by their ids; one statement for all."""
    values: dict[str, list[str] | datetime | int] = {
        "endpoints": [endpoint.id for endpoint in endpoints],
        "since": clock.now() - SPAN,
        "looked_at": LOOKED_AT,
        "missed": MISSED_MAX + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(HEALTH, values)
        found = {row[0]: Health(*row[1:]) for row in cursor.fetchall()}
    return {endpoint_id: _without_a_guess(health) for endpoint_id, health in found.items()}


def has_answered(merchant: Merchant) -> RawSQL:
    """Return the condition that an endpoint of the merchant's has taken a delivery lately."""
    return RawSQL(ANSWERED, [LOOKED_AT, merchant.id], BooleanField())  # noqa: S611  # A constant.


def _without_a_guess(health: Health) -> Health:
    return health._replace(missed_since=None) if health.is_missed_capped else health


class Hour(NamedTuple):
    """An endpoint's attempts of one hour, counted back from now.

    :param ago: in hours, 23 to 0.
    """

    ago: int
    tried: int
    succeeded: int

    @property
    def failed(self) -> int:
        return self.tried - self.succeeded


BY_HOUR = """
SELECT asked.id, floor(extract(epoch FROM %(now)s - attempted_at) / 3600)::int AS ago,
    count(*), count(*) FILTER (WHERE status = 'succeeded')
FROM unnest(%(endpoints)s::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT attempted_at, status FROM webhooks_delivery WHERE endpoint_id = ANY(ARRAY[asked.id])
    ORDER BY endpoint_id DESC, id DESC LIMIT %(looked_at)s
) AS newest
WHERE attempted_at > %(since)s AND attempted_at <= %(now)s
GROUP BY 1, 2
"""


def by_hour(endpoints: Sequence[Endpoint]) -> dict[str, list[Hour]]:
    """Return the attempts of the last 24 hours by the hour, among the newest 2,000 of each."""
    now = clock.now()
    values: dict[str, Any] = {
        "endpoints": [endpoint.id for endpoint in endpoints],
        "now": now,
        "since": now - SPAN,
        "looked_at": LOOKED_AT,
    }
    with connection.cursor() as cursor:
        cursor.execute(BY_HOUR, values)
        found = {(row[0], row[1]): row[2:] for row in cursor.fetchall()}
    return {
        endpoint.id: [
            Hour(ago, *found.get((endpoint.id, ago), (0, 0))) for ago in range(23, -1, -1)
        ]
        for endpoint in endpoints
    }


class Waiting(NamedTuple):
    """The events that wait for an endpoint which does not answer.

    :param number: of events; of those beyond 10,000 objects, none.
    :param is_capped: more may wait than were counted.
    :param ends_at: about when the tenth attempt of the first one fails, after which nothing more
        is sent (movable clock); None if it is not known.
    """

    number: int
    is_capped: bool
    ends_at: datetime | None


# By the number of the attempt that is to come: the seconds from it to the tenth.
UNTIL_THE_LAST = [sum(DELAYS_SECONDS[before:]) for before in range(len(DELAYS_SECONDS) + 1)]

WAITING = """
SELECT asked.id, lanes.count, lanes.number > %(most)s, open.ends_at
FROM unnest(%(endpoints)s::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT coalesce(sum(open_count), 0)::int AS count, count(*) AS number
    FROM (
        SELECT open_count FROM webhooks_lane
        WHERE endpoint_id = asked.id AND NOT is_resend LIMIT %(most)s + 1
    ) AS few
) AS lanes
CROSS JOIN LATERAL (
    SELECT min(scheduled_at + make_interval(secs => (%(rest)s::int[])[attempt])) AS ends_at
    FROM (
        SELECT scheduled_at, attempt FROM webhooks_delivery
        WHERE endpoint_id = asked.id AND status = 'pending' AND trigger <> 'resend'
        LIMIT %(most)s + 1
    ) AS few
) AS open
"""


def waiting(endpoints: Sequence[Endpoint]) -> dict[str, Waiting]:
    """Return the events that wait for endpoints, by their ids; one statement for all."""
    values: dict[str, Any] = {
        "endpoints": [endpoint.id for endpoint in endpoints],
        "rest": UNTIL_THE_LAST,
        "most": WAITING_MAX,
    }
    with connection.cursor() as cursor:
        cursor.execute(WAITING, values)
        found = {row[0]: Waiting(*row[1:]) for row in cursor.fetchall()}
    # Of some of the lanes the first to end is a guess.
    return {
        endpoint_id: one._replace(ends_at=None) if one.is_capped else one
        for endpoint_id, one in found.items()
    }
