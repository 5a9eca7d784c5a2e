"""How PostgreSQL reads request logs of 40,000 rows: by an index, at depth as on the first page."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from merchants.filters import REQUEST_LOGS
from merchants.models import Merchant, RequestLog
from tests.stage import list_reads
from tests.stage.database_role import analyze, vacuum
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.django_db(databases=["default", "bank"]),
]

ROWS, DEPTH, LIMIT, RARE = 20_000, 10_000, 25, 200
# Every second row is another merchant's. One in 200 is refused.
FILL = f"""
    INSERT INTO merchants_requestlog (
        id, merchant_id, kind, method, path, status, duration_ms, idempotency_key, truncated,
        error_code, created_at)
    SELECT 'req_' || lpad(n::text, 24, '0'), (%s::text[])[1 + n %% 2], 'api', 'POST',
        '/v1/payment_intents', CASE WHEN rare THEN 404 ELSE 200 END, 5, 'order ' || n / 4, false,
        CASE WHEN rare THEN 'resource_missing' END, now() - (n || ' seconds')::interval
    FROM (SELECT n, n %% {2 * RARE} IN (8, 9) AS rare FROM generate_series(1, {2 * ROWS}) AS n) m
"""  # noqa: S608


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many requests, among those of another."""
    with django_db_blocker.unblock():
        other, shop = MerchantFactory(), MerchantFactory()
        vacuum("merchants_requestlog")
        with connection.cursor() as cursor:
            cursor.execute(FILL, [[other.id, shop.id]])
        vacuum("merchants_requestlog")
        yield shop
        empty("default")


@pytest.fixture
def rows(shop: Merchant) -> QuerySet:
    return RequestLog.objects.for_merchant(shop)


@pytest.mark.parametrize("query", ["", "status=200", "kind=api", "method=POST", "created[gte]=1"])
@pytest.mark.parametrize("cursor", ["starting_after", "ending_before"])
def test_a_deep_page_reads_as_much_as_the_first(rows: QuerySet, query: str, cursor: str) -> None:
    deep_id = rows.order_by("-created_at", "-id").values_list("id", flat=True)[DEPTH]

    first = list_reads.read(rows, f"{query}&limit={LIMIT}", REQUEST_LOGS)
    deep = list_reads.read(rows, f"{query}&limit={LIMIT}&{cursor}={deep_id}", REQUEST_LOGS)

    print(f"{query} {cursor}: {first.buffers} and {deep.buffers} buffers")  # noqa: T201
    assert len(first.ids) == len(deep.ids) == LIMIT
    assert not (first.nodes | deep.nodes) & {"Seq Scan", "Sort", "Incremental Sort"}
    assert deep.buffers <= first.buffers + 20


@pytest.mark.parametrize(
    "query",
    [
        "status=404",
        "status=4xx",
        "idempotency_key=order 777",
        "error_code=resource_missing",
        "error_code=resource_missing&created[gte]=1",
    ],
)
def test_what_few_have_is_found_by_its_index(rows: QuerySet, query: str) -> None:
    found = list_reads.read(rows, f"{query}&limit={LIMIT}", REQUEST_LOGS)

    print(f"{query}: {len(found.ids)} rows, {found.buffers} buffers, {found.nodes}")  # noqa: T201
    assert found.ids
    assert "Seq Scan" not in found.nodes
    assert found.buffers <= 200


EVENTS = """
    INSERT INTO events_event (
        id, merchant_id, type, aggregate_type, aggregate_id, sequence, request_id, body, created_at)
    SELECT 'evt_' || n, %s, 'customer.created', 'customer', 'cus_' || n, 1, 'req_' || n, '', now()
    FROM generate_series(1, 5000) AS n
"""


def test_a_code_that_nobody_was_given_is_not_looked_for_in_every_row(rows: QuerySet) -> None:
    found = list_reads.read(rows, "error_code=no_such_code", REQUEST_LOGS)

    assert found.ids == []
    assert found.buffers <= 20


def test_events_of_a_request_are_found_by_their_index(shop: Merchant) -> None:
    with connection.cursor() as cursor:
        # The planner knows what it chooses from, whatever other tests left in its statistics.
        cursor.execute(EVENTS, [shop.id])
        analyze("events_event")
        cursor.execute(
            "EXPLAIN SELECT id FROM events_event WHERE merchant_id = %s AND request_id = 'req_7'",
            [shop.id],
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "events_of_a_request" in plan, plan
