"""How PostgreSQL reads an endpoint's 100,000 deliveries: what few have is found by an index."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from tests.stage import list_reads
from tests.stage.database_role import as_owner, vacuum
from tests.stage.emptying import empty
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.list_reads import Read
from webhooks.filters import DELIVERIES
from webhooks.models import Delivery, Endpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.django_db(databases=["default", "bank"]),
]

ROWS, DEPTH, LIMIT, FEW = 100_000, 40_000, 25, 60
BUFFERS_MAX = 200
# Every second row is another endpoint's. The few that failed, and those that were asked for, are
# the oldest, so that whoever walks from the newest on reads all others before them.
FILL = f"""
    INSERT INTO webhooks_delivery (
        id, merchant_id, endpoint_id, event_id, event_type, url, lane_key, aggregate_id, sequence,
        trigger, status, is_missed, attempt, delay_seconds, scheduled_at, created_at)
    SELECT 'whd_' || lpad(n::text, 24, '0'), %s, (%s::text[])[1 + n %% 2], 'evt_' || n / 4,
        CASE WHEN n / 2 %% 2 = 0 THEN 'payment_intent.created' ELSE 'payment_intent.succeeded' END,
        'https://acme.example/hooks', 'pi_' || n, 'pi_' || n, 1,
        CASE WHEN few AND n %% 3 = 0 THEN 'resend' ELSE 'automatic' END,
        CASE WHEN few AND n / 2 %% 2 = 0 THEN 'failed' WHEN few THEN 'canceled'
             ELSE 'succeeded' END,
        false, 1, 0, now(), now()
    FROM (SELECT n, n <= {4 * FEW} AS few FROM generate_series(1, {2 * ROWS}) AS n) AS made
"""  # noqa: S608


@pytest.fixture(scope="module")
def endpoint(django_db_setup: None, django_db_blocker: Any) -> Iterator[Endpoint]:
    """An endpoint with very many deliveries, among those of another."""
    with django_db_blocker.unblock():
        merchant = MerchantFactory()
        other, endpoint = (EndpointFactory(merchant=merchant) for _ in range(2))
        vacuum("webhooks_delivery")
        with connection.cursor() as cursor:
            # VACUUM would leave out what is not on the disk so far.
            cursor.execute("SET synchronous_commit = on")
            cursor.execute(EVENTS, [merchant.id])
            cursor.execute(FILL, [merchant.id, [other.id, endpoint.id]])
            cursor.execute("RESET synchronous_commit")
        vacuum("webhooks_delivery, events_event")
        yield endpoint
        empty("default")


EVENTS = f"""
    INSERT INTO events_event (
        id, merchant_id, type, aggregate_type, aggregate_id, sequence, request_id, body, created_at)
    SELECT 'evt_' || n, %s, 'payment_intent.created', 'payment_intent', 'pi_' || n, 1, 'req_' || n,
        '', now()
    FROM generate_series(0, {ROWS // 2}) AS n
"""  # noqa: S608


@pytest.fixture
def rows(endpoint: Endpoint) -> QuerySet:
    return Delivery.objects.filter(endpoint=endpoint).for_merchant(endpoint.merchant)


def read(rows: QuerySet, query: str) -> Read:
    found = list_reads.read(rows, f"{query}&limit={LIMIT}", DELIVERIES)
    print(f"{query}: {len(found.ids)} rows, {found.buffers} buffers, {found.nodes}")  # noqa: T201
    return found


@pytest.mark.parametrize(
    "query",
    ["", "status=succeeded", "trigger=automatic", "event_type=payment_intent.created",
     "event_type=payment_intent.*", "status=failed", "status[]=failed&status[]=succeeded"],
)  # fmt: skip
@pytest.mark.parametrize("cursor", ["starting_after", "ending_before"])
def test_a_deep_page_reads_as_much_as_the_first(rows: QuerySet, query: str, cursor: str) -> None:
    depth = 30 if query == "status=failed" else DEPTH
    ids = rows.order_by("-id").values_list("id", flat=True)
    deep_id = (ids.filter(status="failed") if query == "status=failed" else ids)[depth]

    first, deep = read(rows, query), read(rows, f"{query}&{cursor}={deep_id}")

    assert len(first.ids) == len(deep.ids) == LIMIT
    assert not (first.nodes | deep.nodes) & {"Seq Scan", "Sort", "Incremental Sort"}
    assert deep.buffers <= first.buffers + 20


@pytest.mark.parametrize(
    "query",
    [
        "status=failed", "status=canceled", "status[]=failed&status[]=canceled", "trigger=resend",
        "trigger=replay", "status=failed&event_type=payment_intent.created", "status=pending",
        "status=failed&trigger=automatic", "event=evt_7", "event=evt_7&status=failed",
    ],
)  # fmt: skip
def test_what_few_have_is_found_by_its_index(rows: QuerySet, query: str) -> None:
    found = read(rows, f"{query}&include[]=total_count")

    assert found.ids or query in ("trigger=replay", "status=pending")
    assert "Seq Scan" not in found.nodes
    assert found.buffers <= BUFFERS_MAX


def test_without_its_index_a_failed_one_is_looked_for_in_every_row(rows: QuerySet) -> None:
    with as_owner() as cursor:
        cursor.execute("DROP INDEX deliveries_without_success")  # Until this transaction ends.

    assert read(rows, "status=failed").buffers > 10 * BUFFERS_MAX


def test_a_count_stops_at_its_bound(rows: QuerySet) -> None:
    for query in ("", "status=succeeded", "trigger=automatic", "event_type=payment_intent.*"):
        counted = read(rows, f"{query}&include[]=total_count")

        assert "Seq Scan" not in counted.nodes
