"""Kept rows that are over slow down no frequent query, however many of them there are."""

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection

from core import clock
from tests.stage.database_role import vacuum
from tests.stage.factories import EndpointFactory
from tests.stage.webhook_world import tell
from webhooks import notices, replay, retention, stopping
from webhooks.delivery import fairness
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 10_000
# All of them are some 400.
PAGES_MAX = 50

DELETED = """
INSERT INTO webhooks_endpoint (id, merchant_id, url, enabled_events, status, metadata, api_version,
    failures_in_a_row, created_at, deleted_at)
SELECT 'we_' || lpad(number::text, 24, '0'), merchant_id, url, enabled_events, 'disabled', '{}',
    api_version, 0, now(), now()
FROM webhooks_endpoint, generate_series(1, %s) AS number
"""

MISSED = """
INSERT INTO webhooks_delivery (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key,
    aggregate_id, sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at,
    created_at)
SELECT 'whd_0' || lpad(number::text, 8, '0'), merchant_id, endpoint_id, event_id, event_type, url,
    lane_key, aggregate_id, number, 'automatic', 'canceled', true, 1, 0, scheduled_at, created_at
FROM webhooks_delivery, generate_series(1, %s) AS number
"""


def pages(statement: str, **asked: Any) -> int:
    """Return how many pages of the tables and their indexes a statement looks at."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)" + statement, asked)
        [(plan,)] = cursor.fetchall()
    top = plan[0]["Plan"]
    return top["Shared Hit Blocks"] + top["Shared Read Blocks"]


def add(statement: str, table: str, times: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [times])
    # Rows that other tests have left behind are looked at, too.
    vacuum(f"{table}, webhooks_lane")


SEARCHED = {
    "after": "", "last": fairness.BEHIND_ALL, "slots": 64, "degraded_slots": 64,
    "stretch": fairness.STRETCH, **fairness.LIMITS,
}  # fmt: skip


def test_deleted_endpoints_are_passed_over() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    add(DELETED, "webhooks_endpoint", MANY)

    looked_at = {
        "claim": pages(fairness.SEARCH, **SEARCHED, now=clock.now()),
        "stop": pages(stopping.WITH_LANES),
        "replay": pages(replay.REPLAYING),
        "mail": pages("SELECT * FROM webhooks_endpoint WHERE mail_due_at <= now()"),
    }

    print(f"beside {MANY} deleted endpoints: {looked_at}")  # noqa: T201
    assert notices.send_due() == 0
    assert max(looked_at.values()) < PAGES_MAX


def test_what_is_missed_keeps_nothing_else_from_being_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    Delivery.objects.update(status="succeeded")
    add(MISSED, "webhooks_delivery", MANY)
    clock.advance(timedelta(days=31))
    seconds = count()
    # A run that has time for a single chunk.
    monkeypatch.setattr("webhooks.retention.time.monotonic", lambda: next(seconds) * 2)
    monkeypatch.setattr(retention, "CHUNK", 100)

    assert retention.forget_old()["deliveries"] == 1

    before = clock.now() - timedelta(days=30)
    looked_at = pages(retention.FORGET_DELIVERIES, after="", before=before, chunk=100)
    print(f"beside {MANY} missed: {looked_at}")  # noqa: T201
    assert looked_at < PAGES_MAX
