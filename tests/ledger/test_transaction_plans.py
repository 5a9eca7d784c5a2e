"""How PostgreSQL reads balance transactions among 100,000 movements: by index, at any depth."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import QuerySet

from core.rest import lists
from ledger import transactions
from ledger.views import BalanceTransactionViewSet
from merchants.models import Merchant
from tests.stage import list_reads
from tests.stage.database_role import past_guards, vacuum
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.list_reads import Read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.django_db(databases=["default", "bank"]),
]

SPEC = BalanceTransactionViewSet.lists["list"]
ROWS, DEPTH, LIMIT = 100_000, 40_000, 100
RARE = 90  # About so many rows share the rare values.
BUFFERS_MAX_OF_A_RARE_VALUE = 500

# Every second one is another merchant's, and of the others every third has no type, as settlements.
MOVEMENTS = f"""
    INSERT INTO ledger_movement (id, merchant_id, kind, type, cause_id, source_id, currency, amount,
        surcharge, fee, net, returns_fee, available_on, created_at)
    SELECT 'txn_' || lpad(n::text, 24, '0'), (%s::text[])[1 + n %% 2], 'charge',
        CASE WHEN n / 2 %% 3 = 0 THEN NULL WHEN rare THEN 'refund' ELSE 'charge' END,
        'att_' || n, 'pi_' || n / 20, CASE WHEN rare THEN 'gbp' ELSE 'try' END,
        CASE WHEN n / 2 %% 3 = 0 THEN 0 ELSE amount END, 0, 0,
        CASE WHEN n / 2 %% 3 = 0 THEN 0 ELSE amount END, false,
        CASE WHEN rare THEN '2026-01-01'::date ELSE '2026-02-01'::date + n %% 200 END,
        now() - (n || ' seconds')::interval
    FROM (
        SELECT n, 1 + (n::bigint * 7919) %% 9973 AS amount, n %% {2 * ROWS // RARE} = 9 AS rare
        FROM generate_series(1, {2 * ROWS}) AS n
    ) AS made
"""  # noqa: S608


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many movements, among those of another."""
    with django_db_blocker.unblock():
        other, shop = MerchantFactory(), MerchantFactory()
        # Rows that other tests have left behind would be written between.
        vacuum("ledger_movement")
        with past_guards() as cursor:
            # VACUUM would leave out what is not on the disk so far.
            cursor.execute("SET LOCAL synchronous_commit = on")
            cursor.execute(MOVEMENTS, [[other.id, shop.id]])
        vacuum("ledger_movement")
        yield shop
        empty("default")


@pytest.fixture
def rows(shop: Merchant) -> QuerySet:
    return transactions.of_merchant(shop)


def read(rows: QuerySet, query: str) -> Read:
    return list_reads.read(rows, query, SPEC)


def test_the_default_list_is_read_from_its_index_in_order(rows: QuerySet) -> None:
    first = read(rows, f"limit={LIMIT}")

    assert len(first.ids) == LIMIT
    assert first.nodes <= {"Limit", "Index Scan"}
    print(f"first page: {first.buffers} buffers")  # noqa: T201


@pytest.mark.parametrize("param", ["starting_after", "ending_before"])
@pytest.mark.parametrize(
    "query",
    ["sort=-created", "sort=created", "sort=amount", "sort=-amount", "type=charge",
     "type=charge&sort=amount", "currency=try", "created[gte]=1", "available_on[gte]=1769900000"],
)  # fmt: skip
def test_a_deep_page_reads_as_much_as_the_first(rows: QuerySet, query: str, param: str) -> None:
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


def cursor_at_depth(rows: QuerySet, query: str) -> str:
    """Return the id of a row in the middle of what the query lists."""
    key = "amount" if "sort" in query and "amount" in query else "created_at"
    is_ascending = "sort=-" not in query and "sort=" in query
    order = (key, "id") if is_ascending else (f"-{key}", "-id")
    return rows.order_by(*order).values_list("id", flat=True)[DEPTH]


@pytest.mark.parametrize(
    "query",
    ["type=refund", "type=refund&sort=amount", "currency=gbp", "currency=gbp&sort=amount",
     "source=pi_777", "source=pi_777&type=charge", "available_on[lt]=1769800000",
     "available_on[lt]=1769800000&sort=amount", "available_on=1767214800"],
)  # fmt: skip
def test_what_few_have_is_found_without_reading_the_others(rows: QuerySet, query: str) -> None:
    found = read(rows, f"{query}&limit={LIMIT}")

    print(f"{query}: {len(found.ids)} rows, {found.buffers} buffers, {found.nodes}")  # noqa: T201
    assert 0 < len(found.ids) < LIMIT
    assert "Seq Scan" not in found.nodes
    assert found.buffers <= BUFFERS_MAX_OF_A_RARE_VALUE


def test_what_nobody_has_is_not_found_at_once(rows: QuerySet) -> None:
    for query in ("currency=jpy", "type=payout", "source=pi_none", "available_on=1867186800"):
        nothing = read(rows, query)

        assert (nothing.ids, nothing.buffers) == ([], pytest.approx(4, abs=4)), query


@pytest.mark.parametrize("query", ["", "sort=amount", "type=charge", "currency=try"])
def test_counting_stops_at_its_bound(rows: QuerySet, query: str) -> None:
    counted = read(rows, f"{query}&include[]=total_count&limit=1")

    print(f"{query}: {counted.buffers} buffers, {counted.nodes}")  # noqa: T201
    assert "Seq Scan" not in counted.nodes
    assert counted.buffers <= lists.TOTAL_MAX / 10
