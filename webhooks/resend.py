"""Resending: a delivery that was asked for by hand (contract 9, resend)."""

from collections.abc import Iterable

from django.db import connection, transaction

from core import clock, ids
from events.models import Event
from webhooks import wakeups
from webhooks.models import Endpoint

# What is owed anyway, or waits for an earlier event of the object, is only hurried.
OWED = """
SELECT 1 FROM webhooks_delivery
WHERE endpoint_id = %(endpoint)s AND lane_key = %(aggregate)s AND status = 'pending'
    AND sequence <= %(sequence)s
LIMIT 1
"""

# Who holds the lane is waited for: else it would keep its wait, of up to a day. Nobody waits for
# an endpoint with a lane in hand.
HURRY = """
UPDATE webhooks_lane SET due_at = %(now)s WHERE endpoint_id = %(endpoint)s AND key = %(aggregate)s
"""

# A lane of its own, outside the order promise.
PLAN = """
WITH planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    VALUES (%(id)s, %(merchant)s, %(endpoint)s, %(event)s, %(type)s, %(url)s, %(id)s,
        %(aggregate)s, %(sequence)s, 'resend', 'pending', false, 1, 0, %(now)s, %(now)s)
)
INSERT INTO webhooks_lane (endpoint_id, key, open_count, is_resend, due_at)
VALUES (%(endpoint)s, %(id)s, 1, true, %(now)s)
"""


def resend(event: Event, endpoints: Iterable[Endpoint]) -> None:
    """Send an event once more, in the caller's transaction, which holds the endpoints.

    One attempt without a schedule, that changes no endpoint's status; if the event or an
    earlier one of its object is still owed to an enabled endpoint, that one is sent now.

    :param endpoints: none of them disabled.
    """
    for endpoint in endpoints:
        facts = {
            "id": ids.new("whd"),
            "merchant": event.merchant_id,
            "endpoint": endpoint.id,
            "url": endpoint.url,
            "event": event.id,
            "type": event.type,
            "aggregate": event.aggregate_id,
            "sequence": event.sequence,
            "now": clock.now(),
        }
        if not _hurry(endpoint, facts):
            with connection.cursor() as cursor:
                cursor.execute(PLAN, facts)
    transaction.on_commit(wakeups.wake)


def _hurry(endpoint: Endpoint, facts: dict[str, object]) -> bool:
    # What is pending at one that fails is about to be canceled.
    if endpoint.status != Endpoint.Status.ENABLED:
        return False
    with connection.cursor() as cursor:
        cursor.execute(OWED, facts)
        is_owed = cursor.fetchone() is not None
        if is_owed:
            cursor.execute(HURRY, facts)
    return is_owed
