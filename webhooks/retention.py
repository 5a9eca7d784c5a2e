"""Retention: old attempts, then old events are deleted, unless a delivery is still owed."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction

from core import clock, prepared
from webhooks import signing_secrets

CHUNK = 5_000
# A run is short, so that a process that ends need not wait for it; the next run goes on.
RUN_SECONDS = 3
# Sorts before every id.
START = ""

# Ids begin with the time, so their index is walked from the oldest on. It is the index of
# deliveries that are over and not missed: rows that stay for long, however many, are not in it.
FORGET_DELIVERIES = """
WITH oldest AS MATERIALIZED (
    SELECT id, created_at FROM webhooks_delivery
    WHERE id > %(after)s AND NOT is_missed AND status <> 'pending'
    ORDER BY id LIMIT %(chunk)s
), forgotten AS (
    DELETE FROM webhooks_delivery
    WHERE id = ANY(ARRAY(SELECT id FROM oldest WHERE created_at < %(before)s)) AND NOT is_missed
    RETURNING 1
)
SELECT (SELECT count(*) FROM forgotten), max(id), min(created_at) < %(before)s FROM oldest
"""

# An object with a pending delivery keeps all its events, so that their sequence has no gap.
OLD_EVENTS = """
WITH oldest AS MATERIALIZED (
    SELECT id, merchant_id, aggregate_id, created_at FROM events_event
    WHERE id > %(after)s ORDER BY id LIMIT %(chunk)s
), owed AS (
    SELECT oldest.id FROM oldest WHERE created_at < %(before)s AND (
        EXISTS (SELECT 1 FROM webhooks_delivery
                WHERE event_id = oldest.id AND status = 'pending')
        OR EXISTS (SELECT 1 FROM webhooks_endpoint endpoint JOIN webhooks_delivery delivery
                   ON delivery.endpoint_id = endpoint.id AND delivery.status = 'pending'
                       AND delivery.lane_key = oldest.aggregate_id
                   WHERE endpoint.merchant_id = oldest.merchant_id))
)
SELECT array_agg(id) FILTER (
        WHERE created_at < %(before)s AND id NOT IN (SELECT id FROM owed)
    ), max(id), min(created_at) < %(before)s
FROM oldest
"""
FORGET_EVENTS = """
WITH old AS MATERIALIZED (
    SELECT id FROM events_event WHERE id = ANY(%(old)s) FOR UPDATE SKIP LOCKED
), forgotten AS (
    DELETE FROM webhooks_delivery
    WHERE event_id = ANY(ARRAY(SELECT id FROM old)) AND status <> 'pending'
)
SELECT array_agg(id) FROM old
"""

log = structlog.get_logger(__name__)
# Deletes old rows of one chunk behind an id. Returns their number, the chunk's last id, and whether
# its oldest row was old enough.
Forget = Callable[[str, datetime], tuple[int, str | None, bool | None]]


def forget_old() -> dict[str, int]:
    """Delete attempts and events past their days, and expired secrets; return the number of each.

    Attempts live `DELIVERY_DAYS`, events `EVENT_DAYS` (movable clock). Never a pending
    attempt, nor an event of an object that has one; a missed attempt stays as long as its
    event, so that a replay finds it (contract 9, Retention).
    """
    now = clock.now()
    forgotten = {
        "deliveries": _all_of(_deliveries, now - timedelta(days=settings.DELIVERY_DAYS)),
        "events": _all_of(_events, now - timedelta(days=settings.EVENT_DAYS)),
        "secrets": signing_secrets.destroy_expired(),
    }
    if any(forgotten.values()):
        log.info("webhook_rows_forgotten", **forgotten)
    return forgotten


def _all_of(forget: Forget, before: datetime) -> int:
    ends_at = time.monotonic() + RUN_SECONDS
    count, after = 0, START
    is_old: bool | None = True
    # Each run begins with the rows that are kept, so it goes on at least until it is past them.
    while is_old and (count == 0 or time.monotonic() < ends_at):
        some, last, is_old = forget(after, before)
        count, after = count + some, last or after
    return count


@transaction.atomic(durable=True)
def _deliveries(after: str, before: datetime) -> tuple[int, str | None, bool | None]:
    prepared.use_indexes()
    with connection.cursor() as cursor:
        cursor.execute(FORGET_DELIVERIES, {"after": after, "before": before, "chunk": CHUNK})
        return cursor.fetchone()


@transaction.atomic(durable=True)
def _events(after: str, before: datetime) -> tuple[int, str | None, bool | None]:
    prepared.use_indexes()
    with connection.cursor() as cursor:
        cursor.execute(OLD_EVENTS, {"after": after, "before": before, "chunk": CHUNK})
        old, last, is_old = cursor.fetchone()
        if not old:
            return 0, last, is_old
        cursor.execute(FORGET_EVENTS, {"old": old})
        [locked] = cursor.fetchone()
        cursor.execute("SELECT prune_events(%s)", [locked or []])
    return len(locked or []), last, is_old
