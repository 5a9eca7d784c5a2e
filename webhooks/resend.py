"""Resending: one more delivery of an event, at a merchant's request (contract 9, resend)."""

from collections.abc import Iterable
from datetime import datetime

from django.db import connection, transaction

from core import clock, ids
from events.models import Event
from webhooks.delivery import wakeups
from webhooks.models import Endpoint

# Is the event, or an earlier one of its object, still pending? Then the pending one is sent now.
# The event itself may not be among them: the endpoint was not subscribed to its type.
OWED = """
SELECT bool_or(sequence = %(sequence)s) FROM webhooks_delivery
WHERE endpoint_id = %(endpoint)s AND lane_key = %(aggregate)s AND status = 'pending'
    AND sequence <= %(sequence)s
"""

# Waits for a transaction that holds the lane: otherwise the lane would wait on for its retry, up to
# a day. This causes no deadlock, because no transaction with a lane waits for an endpoint.
HURRY = """
UPDATE webhooks_lane SET due_at = least(due_at, %(now)s)
WHERE endpoint_id = %(endpoint)s AND key = %(aggregate)s
"""

# A resend has a lane of its own: the promised order of an object's events leaves resends out.
PLAN = """
WITH planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    VALUES (%(id)s, %(merchant)s, %(endpoint)s, %(event)s, %(type)s, %(url)s, %(id)s,
        %(aggregate)s, %(sequence)s, 'resend', 'pending', false, 1, 0, %(now)s, %(now)s)
)
INSERT INTO webhooks_lane (merchant_id, endpoint_id, key, open_count, is_resend, due_at)
VALUES (%(merchant)s, %(endpoint)s, %(id)s, 1, true, %(now)s)
"""


# The values of a delivery's row.
Facts = dict[str, str | int | datetime]


def resend(event: Event, endpoints: Iterable[Endpoint]) -> None:
    """Send an event once more, in the caller's transaction, which has locked the endpoints.

    One attempt without retries, which changes no endpoint's status. If the event is still pending
    at an enabled endpoint, that delivery is sent now instead, behind earlier ones of its object.
    Made before its time, it is none of the ten attempts either.

    :param endpoints: none of them disabled.
    """
    for endpoint in endpoints:
        facts: Facts = {
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


def _hurry(endpoint: Endpoint, facts: Facts) -> bool:
    """Let what is owed of the object be sent now; return whether the event is among it."""
    # Pending deliveries of a failing endpoint are about to be canceled.
    if endpoint.status != Endpoint.Status.ENABLED:
        return False
    with connection.cursor() as cursor:
        cursor.execute(OWED, facts)
        [[is_owed]] = cursor.fetchall()
        if is_owed is not None:
            cursor.execute(HURRY, facts)
    return bool(is_owed)
