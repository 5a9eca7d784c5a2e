"""Many rows: killed anywhere, forgetting goes on where it was, and keeps what is owed."""

import time
from collections.abc import Callable

import pytest
from django.db import connection

from merchants.models import RequestLog
from tests.stage.database_role import analyze
from tests.stage.factories import EndpointFactory
from tests.stage.lengths import length, tried
from tests.stage.processes import begin, run
from webhooks.models import Delivery, Endpoint

pytestmark = [
    pytest.mark.proof(part="retention"),
    pytest.mark.timeout(1800),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

COUNT = length(short=60_000, full=1_000_000)
KILLED_AT = (0.3, 0.7)
# Deleting half a million rows is a matter of the disk.
PATIENCE_SECONDS = 900
FORGET = """
import django
django.setup()
from {module} import forget_old
from tests.stage.database_role import analyze
def left(count):
    return any(count.values()) if isinstance(count, dict) else count
while left(forget_old()):
    pass
"""
# Of each hundred rows the first forty are 120 days old, the next thirty 60, the others new. In
# each part one row in ten is pending, and one was missed.
EVENTS = """
INSERT INTO events_event (id, merchant_id, type, aggregate_type, aggregate_id, sequence,
    request_id, body, created_at)
SELECT 'evt_' || lpad(n::text, 24, '0'), %(merchant)s, 'customer.updated', 'customer',
    'cus_' || n, 1, 'req_1', '', now() - make_interval(days =>
        CASE WHEN n <= %(count)s * 0.4 THEN 120 WHEN n <= %(count)s * 0.7 THEN 60 ELSE 0 END)
FROM generate_series(1, %(count)s) n
"""
DELIVERIES = """
INSERT INTO webhooks_delivery (id, merchant_id, endpoint_id, event_id, event_type, url, lane_key,
    aggregate_id, sequence, trigger, status, is_missed, attempt, delay_seconds, scheduled_at,
    created_at)
SELECT 'whd_' || substr(id, 5), merchant_id, %(endpoint)s, id, type, 'https://acme.example',
    aggregate_id, aggregate_id, sequence, 'automatic',
    CASE right(id, 1) WHEN '0' THEN 'pending' WHEN '5' THEN 'canceled' ELSE 'succeeded' END,
    right(id, 1) = '5', 1, 0, created_at, created_at
FROM events_event
"""
LOGS = """
INSERT INTO merchants_requestlog (id, merchant_id, kind, path, duration_ms, truncated, created_at)
SELECT 'req_' || lpad(n::text, 24, '0'), %(merchant)s, 'api', '/v1/balance', 3, false,
    now() - make_interval(days => CASE WHEN n <= %(count)s * 0.7 THEN 60 ELSE 0 END)
FROM generate_series(1, %(count)s) n
"""


@pytest.fixture
def endpoint() -> Endpoint:
    return EndpointFactory()


def fill(*statements: str, endpoint: Endpoint) -> None:
    values = {"merchant": endpoint.merchant_id, "endpoint": endpoint.id, "count": COUNT}
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, values)


def empty_out(table: str) -> None:
    """Let the last that PostgreSQL knows of the table be that nothing is left in it."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608
    analyze(table)


def counted(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def kill_at(count: Callable[[], int], most: int, module: str) -> int:
    """Start forgetting, kill it when no more than so many rows are left; return how many were."""
    process = begin("-c", FORGET.format(module=module))
    while count() > most:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    return count()


def forget_the_rest(module: str) -> tuple[int, str]:
    return run("-c", FORGET.format(module=module), patience_seconds=PATIENCE_SECONDS)


def test_forgetting_deliveries_and_events_is_killed_twice_and_resumed(endpoint: Endpoint) -> None:
    fill(EVENTS, DELIVERIES, endpoint=endpoint)
    empty_out("webhooks_delivery")
    fill(DELIVERIES, endpoint=endpoint)
    owed = Delivery.objects.filter(status="pending").count()
    kept_days = "SELECT count(*) FROM webhooks_delivery WHERE created_at > now() - interval '30 d'"
    young = counted(kept_days)

    left = [
        kill_at(Delivery.objects.count, int(COUNT * (1 - 0.56 * part)), "webhooks.retention")
        for part in KILLED_AT
    ]
    status, said = forget_the_rest("webhooks.retention")

    print(f"killed with {left} left")  # noqa: T201
    tried(2 * COUNT, "old and new events and deliveries")
    assert status == 0, said
    assert Delivery.objects.filter(status="pending").count() == owed == COUNT // 10
    assert counted(kept_days) == young == int(COUNT * 0.3)
    # Of the old: what is pending, and what was missed of events that are still there.
    assert Delivery.objects.count() == young + COUNT * 0.4 * 0.1 + COUNT * 0.3 * 0.2
    assert counted("SELECT count(*) FROM events_event") == COUNT * 0.6 + COUNT * 0.4 * 0.1


@pytest.mark.only_full("events and deliveries are forgotten by the same loop")
def test_forgetting_request_logs_is_killed_twice_and_resumed(endpoint: Endpoint) -> None:
    fill(LOGS, endpoint=endpoint)
    empty_out("merchants_requestlog")
    fill(LOGS, endpoint=endpoint)

    left = [
        kill_at(RequestLog.objects.count, int(COUNT * (1 - 0.7 * part)), "api.request_logs")
        for part in KILLED_AT
    ]
    status, said = forget_the_rest("api.request_logs")

    print(f"killed with {left} left")  # noqa: T201
    tried(COUNT, "old and new request logs")
    assert status == 0, said
    assert RequestLog.objects.count() == int(COUNT * 0.3)
