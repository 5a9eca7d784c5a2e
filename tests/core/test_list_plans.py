"""How PostgreSQL reads lists of 100,000 payments: by index, on page 400 as on page 1."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from core import clock
from core.rest import lists
from merchants.models import Merchant
from payments.charging.views import PaymentIntentViewSet
from payments.intents import day_counts
from payments.intents.models import PaymentIntent
from tests.stage import list_reads
from tests.stage.database_role import vacuum
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.list_reads import Read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.django_db(databases=["default", "bank"]),
]

SPEC = PaymentIntentViewSet.lists["list"]
ROWS, DEPTH, LIMIT = 100_000, 40_000, 100
RARE = 90  # About so many rows share the rare values.
BUFFERS_MAX_OF_A_RARE_VALUE = 500
DAY = timedelta(days=1)
MINUTE_AGO = int(time.time()) - 60

# Every second row is another merchant's; amounts and statuses have no order in time.
PAYMENTS = f"""
    INSERT INTO intents_paymentintent (
        id, merchant_id, status, capture_method, currency, amount, surcharge, authorized_minor,
        amount_capturable, captured_minor, captured_surcharge, refunded_minor,
        disputed_minor, installments, customer_id, description, metadata, billing_details,
        three_d_secure_requested, three_d_secure_effective, attempt_ids, line_item_ids, created_at,
        card)
    SELECT 'pi_' || lpad(n::text, 24, '0'), (%s::text[])[1 + n %% 2],
        CASE WHEN n %% 10 < 7 THEN 'succeeded' WHEN rare THEN 'processing' ELSE 'canceled' END,
        CASE WHEN rare THEN 'manual' ELSE 'automatic' END,
        CASE WHEN rare THEN 'gbp' ELSE 'try' END, amount, 0, amount, 0, amount, 0, 0, 0,
        CASE WHEN rare THEN 12 ELSE 1 END,
        NULL, CASE WHEN rare THEN 'Çay ' ELSE 'Order ' END || n,
        jsonb_build_object('shop', n / 2 %% 2)
            || CASE WHEN rare THEN '{{"vip": "1"}}' ELSE '{{}}' END::jsonb,
        jsonb_build_object('email', CASE WHEN rare THEN 'Ayse' ELSE 'u' || n END || '@example.com'),
        'automatic', 'automatic', '[]', '[]', now() - (n || ' seconds')::interval,
        jsonb_build_object(
            'last4', CASE WHEN rare THEN '0007' ELSE '4242' END,
            'program', CASE WHEN rare THEN 'rare' ELSE 'bonus' END,
            'issuer', CASE WHEN rare THEN 'Rare Bank' ELSE 'Garanti BBVA' END,
            'domestic', NOT rare)
    FROM (
        SELECT n, 1 + (n::bigint * 7919) %% 9973 AS amount, n %% {2 * ROWS // RARE} = 9 AS rare
        FROM generate_series(1, {2 * ROWS}) AS n
    ) AS made
"""  # noqa: S608
ENTRIES = """
    INSERT INTO intents_metadataentry (merchant_id, intent_id, created_at, key, value)
    SELECT merchant_id, p.id, created_at, entry.key, entry.value
    FROM intents_paymentintent p, jsonb_each_text(metadata) AS entry
"""

TABLES = "intents_paymentintent, intents_metadataentry"


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many payments, among those of another."""
    with django_db_blocker.unblock():
        other, shop = MerchantFactory(), MerchantFactory()
        # Rows that other tests have left behind would be written between.
        vacuum(TABLES)
        with connection.cursor() as cursor:
            cursor.execute(PAYMENTS, [[other.id, shop.id]])
            cursor.execute(ENTRIES)
        vacuum(TABLES)
        yield shop
        empty("default")


def read(rows: QuerySet, query: str) -> Read:
    return list_reads.read(rows, query, SPEC)


@pytest.fixture
def rows(shop: Merchant) -> QuerySet:
    return PaymentIntent.objects.for_merchant(shop)


def test_the_default_list_is_read_from_its_index_in_order(rows: QuerySet) -> None:
    first = read(rows, f"limit={LIMIT}")

    assert len(first.ids) == LIMIT
    assert first.nodes <= {"Limit", "Index Scan"}
    print(f"first page: {first.buffers} buffers")  # noqa: T201


@pytest.mark.parametrize("by_hour", [False, True])
def test_a_chart_of_two_spans_reads_their_payments_alone(shop: Merchant, by_hour: bool) -> None:
    now = clock.now()
    spans = [(now - days - timedelta(minutes=20), now - days) for days in (DAY, timedelta(0))]

    with CaptureQueriesContext(connection) as statements:
        counted = day_counts.count(shop, spans, by_hour=by_hour)
    buffers, nodes = list_reads.cost(statements)

    number = sum(cell.number for _day, cell in counted if cell.group == day_counts.ENDING)
    print(f"{number} payments: {buffers} buffers, {nodes}")  # noqa: T201
    assert number > 1000
    assert buffers < number
    assert "Seq Scan" not in nodes


@pytest.mark.parametrize("param", ["starting_after", "ending_before"])
@pytest.mark.parametrize(
    "query",
    [
        "sort=-created", "sort=created", "sort=amount", "sort=-amount",
        "status=succeeded", "amount[gte]=5000", "metadata[shop]=1", "created[gte]=1",
        "metadata[shop]=1&created[gte]=1", "q=order", "currency=try",
        "capture_method=automatic", "last4=4242", "program=bonus",
        "issuer=Garanti%20BBVA", "installments=1", "domestic=true", "created[lt]=MINUTE_AGO",
        "created[lte]=MINUTE_AGO&sort=created", "metadata[shop]=1&created[lt]=MINUTE_AGO",
        "amount[lte]=9900&sort=-amount", "amount[gte]=50&sort=amount",
        "metadata[shop]=1&sort=amount",
    ],
)  # fmt: skip
def test_a_deep_page_reads_as_much_as_the_first(rows: QuerySet, query: str, param: str) -> None:
    # Filled in here: two test processes that collect in two seconds must call it the same.
    query = query.replace("MINUTE_AGO", str(MINUTE_AGO))
    ordered = f"{query}&limit={LIMIT}"
    deep_id = cursor_at_depth(rows, query)

    first, deep = read(rows, ordered), read(rows, f"{ordered}&{param}={deep_id}")

    cursor_buffers = (
        read(rows, f"limit=1&starting_after={deep_id}").buffers - read(rows, "limit=1").buffers
    )
    print(f"{query} {param}: {first.buffers} and {deep.buffers} buffers, {deep.nodes}")  # noqa: T201
    assert len(first.ids) == len(deep.ids) == LIMIT
    assert not deep.nodes & {"Seq Scan", "Sort", "Incremental Sort"}
    assert abs(deep.buffers - cursor_buffers - first.buffers) <= 0.2 * first.buffers


def test_a_bound_beside_a_cursor_that_implies_it_would_be_read_from(
    rows: QuerySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = f"created[lt]={MINUTE_AGO}"
    deep_id = cursor_at_depth(rows, query)
    monkeypatch.setattr(lists, "_tighter", lambda bounds, edge, **_: (bounds, edge))

    deep = read(rows, f"{query}&limit={LIMIT}&starting_after={deep_id}")

    assert deep.buffers > 10 * read(rows, f"{query}&limit={LIMIT}").buffers


def cursor_at_depth(rows: QuerySet, query: str) -> str:
    """Return the id of a row in the middle of what the query lists."""
    asked = QueryDict(query)
    order = asked.get("sort", "-created").replace("created", "created_at")
    tie = "-id" if order.startswith("-") else "id"
    return rows.order_by(order, tie).values_list("id", flat=True)[DEPTH]


@pytest.mark.parametrize(
    "query",
    ["metadata[vip]=1", "metadata[vip]=1&sort=amount", "status=processing", "amount[gte]=9965",
     "currency=gbp", "capture_method=manual", "currency=gbp&sort=amount",
     "last4=0007", "program=rare", "issuer=Rare%20Bank", "installments=12", "domestic=false",
     "installments=12&currency=gbp&created[gte]=1", "domestic=false&currency=gbp&created[gte]=1",
     "program=rare&currency=gbp&created[gte]=1", "issuer=Rare%20Bank&currency=gbp&created[gte]=1",
     "q=%C3%87ay", "q=CAY", "q=ayse@EXAMPLE.com", "q=u5@example.com"],
)  # fmt: skip
def test_what_few_have_is_found_without_reading_the_others(rows: QuerySet, query: str) -> None:
    found = read(rows, f"{query}&limit={LIMIT}")

    print(f"{query}: {len(found.ids)} rows, {found.buffers} buffers, {found.nodes}")  # noqa: T201
    assert 0 < len(found.ids) < LIMIT
    assert "Seq Scan" not in found.nodes
    assert found.buffers <= BUFFERS_MAX_OF_A_RARE_VALUE


def test_what_nobody_has_is_not_found_at_once(rows: QuerySet) -> None:
    for query in ("currency=jpy", "currency=jpy&sort=amount", "status=requires_action"):
        nothing = read(rows, query)

        assert (nothing.ids, nothing.buffers) == ([], pytest.approx(4, abs=4)), query


@pytest.mark.parametrize(
    "query",
    ["", "sort=amount", "status=succeeded", "currency=try", "capture_method=automatic",
     "metadata[vip]=1", "metadata[shop]=1", "status[]=succeeded&status[]=canceled"],
)  # fmt: skip
def test_counting_stops_at_its_bound(rows: QuerySet, query: str) -> None:
    counted = read(rows, f"{query}&include[]=total_count&limit=1")

    print(f"{query}: {counted.buffers} buffers, {counted.nodes}")  # noqa: T201
    assert "Seq Scan" not in counted.nodes
    assert counted.buffers <= lists.TOTAL_MAX / 10


@pytest.mark.parametrize(
    "query", ["status=succeeded&currency=try", "amount[gte]=5000&status=succeeded", "q=order"]
)
def test_a_count_by_several_filters_reads_no_other_merchants_rows(
    rows: QuerySet, query: str
) -> None:
    counted = read(rows, f"{query}&include[]=total_count&limit=1")

    print(f"{query}: {counted.buffers} buffers, {counted.nodes}")  # noqa: T201
    assert "Seq Scan" not in counted.nodes
