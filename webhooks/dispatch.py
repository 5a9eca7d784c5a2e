"""Planning: an event's deliveries are written in the transaction of the change it reports."""

from core import ids, prepared
from events.models import Event
from webhooks.delivery import wakeups

ENDPOINTS_MAX = 16

# One statement, the transaction's last. An endpoint that is not enabled misses the event, and its
# delivery's row says so: a replay then finds all missed events, whatever ran at the same time.
# Lanes are locked in the order of their endpoints, as everywhere, so that no two transactions wait
# for each other.
PLAN = """
WITH planned AS (
    INSERT INTO webhooks_delivery
        (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id,
         sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    SELECT %(stem)s::text || substr(%(alphabet)s::text, (row_number() OVER (ORDER BY id))::int, 1),
        merchant_id, id, %(event)s::text, %(type)s::text, url, %(aggregate)s::text,
        %(aggregate)s::text, %(sequence)s::integer, 'automatic',
        CASE status WHEN 'enabled' THEN 'pending' ELSE 'canceled' END,
        status <> 'enabled', 1, 0, %(now)s::timestamptz, %(now)s::timestamptz
    FROM webhooks_endpoint
    WHERE merchant_id = %(merchant)s::text AND deleted_at IS NULL
        AND enabled_events && ARRAY['*', %(type)s::text]::varchar[]
    RETURNING endpoint_id, status
)
INSERT INTO webhooks_lane (merchant_id, endpoint_id, key, open_count, is_resend, due_at)
SELECT %(merchant)s::text, endpoint_id, %(aggregate)s::text, 1, false, %(now)s::timestamptz
FROM planned WHERE status = 'pending' ORDER BY endpoint_id
ON CONFLICT (endpoint_id, key, merchant_id)
DO UPDATE SET open_count = webhooks_lane.open_count + 1
"""


def plan(event: Event) -> None:
    """Write down the event's deliveries to every subscribed endpoint, and wake the sender.

    Called by `events.outbox` in the transaction of the change (architecture: Webhook delivery).
    """
    has_lanes = prepared.run(
        PLAN,
        {
            # Endpoints differ in the last character: 16 draws of randomness cost more than
            # the statement does.
            "stem": ids.new("whd")[:-1],
            "alphabet": ids.ALPHABET,
            "event": event.id,
            "type": event.type,
            "aggregate": event.aggregate_id,
            "sequence": str(event.sequence),
            "merchant": event.merchant_id,
            "now": event.created_at.isoformat(),
        },
    )
    if has_lanes:
        wakeups.wake_after_commit()
