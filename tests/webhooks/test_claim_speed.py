"""A claim reads little, whoever has how much in the lanes (architecture 4)."""

from datetime import timedelta

import pytest
from django.db import connection

from core import clock
from merchants.models import Merchant
from tests.stage.database_role import analyze
from tests.stage.factories import MerchantFactory
from tests.stage.webhook_world import claim
from webhooks.delivery import fairness, lanes
from webhooks.models import Endpoint

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(120)]

ENDPOINTS = 2000
# Generous: 2,200 rows and 2,000 pages are the most, of 40,000 lanes and more.
LIMIT_ROWS = 10_000
LIMIT_BUFFERS = 10_000

# As `plan` writes them, many at once: events, deliveries and lanes of objects of their own.
FILL = """
WITH told AS (
    INSERT INTO events_event (id, merchant_id, type, aggregate_type, aggregate_id, sequence,
        request_id, body, created_at)
    SELECT 'evt_' || endpoint || '_' || number, %(merchant)s, 'customer.updated', 'customer',
        'cus_' || endpoint || '_' || number, 1, 'req_1', '{}', now()
    FROM unnest(%(endpoints)s::text[]) AS endpoint, generate_series(1, %(objects)s) AS number
    RETURNING *
), planned AS (
    INSERT INTO webhooks_delivery (id, merchant_id, endpoint_id, event_id, event_type, url,
        lane_key, aggregate_id, sequence, trigger, status, is_missed, attempt, delay_seconds,
        scheduled_at, created_at)
    SELECT 'whd' || substr(id, 4), merchant_id, split_part(aggregate_id, '_', 2), id, type,
        'https://acme.example', aggregate_id, aggregate_id, 1, 'automatic', 'pending', false,
        1, 0, %(due)s, now()
    FROM told
)
INSERT INTO webhooks_lane (merchant_id, endpoint_id, key, open_count, is_resend, due_at)
SELECT %(merchant)s, split_part(aggregate_id, '_', 2), aggregate_id, 1, false, %(due)s FROM told
"""


def endpoints(merchant: Merchant) -> list[str]:
    # Without the underscore of a real id, which the statement above splits at.
    rows = [
        Endpoint(
            id=f"we{number:022d}",
            merchant=merchant,
            url="https://acme.example",
            enabled_events=["*"],
            created_at=clock.now(),
        )
        for number in range(ENDPOINTS)
    ]
    return [row.id for row in Endpoint.objects.bulk_create(rows)]


def fill(merchant: Merchant, ids: list[str], objects: int, *, due_in: int) -> None:
    due = clock.now() + timedelta(seconds=due_in)
    asked = {"merchant": merchant.id, "endpoints": ids, "objects": objects, "due": due}
    with connection.cursor() as cursor:
        cursor.execute(FILL, asked)


def analyze_all() -> None:
    analyze("webhooks_lane, webhooks_delivery, webhooks_endpoint, events_event")


def rows_read(times: int) -> int:
    """Return how many rows a claim reads at most, each followed by the end of half of it."""
    read = []
    for _ in range(times):
        before = rows_read_so_far()
        claimed = claim(slots=256, degraded_slots=64)
        read.append(rows_read_so_far() - before)
        lanes.release(claimed[::2])
    return max(read)


def rows_read_so_far() -> int:
    """Return how many rows this transaction has read from tables and by their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables"
        )
        return int(cursor.fetchone()[0])


def buffers() -> int:
    """Return how many pages the search looks at that goes through a thousand endpoints."""
    asked = {
        "after": "", "last": fairness.BEHIND_ALL, "now": clock.now(), "slots": 64,
        "degraded_slots": 64, "stretch": fairness.STRETCH, **fairness.LIMITS,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)" + fairness.SEARCH, asked)
        [(plan,)] = cursor.fetchall()
    top = plan[0]["Plan"]
    return top["Shared Hit Blocks"] + top["Shared Read Blocks"]


def assert_is_fast(story: str) -> None:
    analyze_all()
    rows, pages = rows_read(30), buffers()
    print(f"{story}: {rows} rows, {pages} pages")  # noqa: T201
    assert rows < LIMIT_ROWS
    assert pages < LIMIT_BUFFERS


def test_with_two_thousand_endpoints_that_have_something_due() -> None:
    acme = MerchantFactory()
    fill(acme, endpoints(acme), 20, due_in=-1)

    assert_is_fast("all due")


def test_with_two_thousand_endpoints_that_wait() -> None:
    acme = MerchantFactory()
    fill(acme, endpoints(acme), 20, due_in=3600)

    assert_is_fast("none due")


def test_with_five_that_have_ten_thousand_due_each() -> None:
    acme = MerchantFactory()
    ids = endpoints(acme)
    fill(acme, ids[:5], 10_000, due_in=-1)
    fill(acme, ids[5:], 20, due_in=3600)

    assert_is_fast("five with 10,000 due")


def test_with_five_that_have_ten_thousand_waiting_each() -> None:
    acme = MerchantFactory()
    ids = endpoints(acme)
    fill(acme, ids[:5], 10_000, due_in=3600)
    fill(acme, ids[5:], 5, due_in=-1)

    assert_is_fast("five with 10,000 waiting")


def test_what_comes_after_an_idle_time_is_passed_over_as_fast() -> None:
    acme = MerchantFactory()
    ids = endpoints(acme)
    analyze_all()
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
    # These make the plans, of tables that are empty. Growing alone does not make new ones.
    assert not any(claim() for _ in range(12))

    fill(acme, ids, 5, due_in=3600)
    rows = rows_read(3)

    print(f"after an idle time: {rows} rows")  # noqa: T201
    assert rows < LIMIT_ROWS
