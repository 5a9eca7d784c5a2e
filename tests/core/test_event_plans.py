"""How PostgreSQL reads events of 100,000 rows for a key that may not read all of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from core.rest import lists
from events import types
from events.models import Event, EventRows
from merchants.models import Merchant
from tests.stage import list_reads
from tests.stage.database_role import vacuum
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.list_reads import Read
from webhooks.filters import EVENTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.django_db(databases=["default", "bank"]),
]

ROWS, LIMIT, FEW, DEPTH = 100_000, 25, 200, 40_000
PAYMENTS = tuple(name for name in types.names() if name.startswith("payment_intent."))
# The newest events are all of payments, two each; those of customers came first, as an import.
FILL = f"""
    INSERT INTO events_event (
        id, merchant_id, type, aggregate_type, aggregate_id, sequence, request_id, body, created_at)
    SELECT 'evt_' || lpad(n::text, 24, '0'), (%s::text[])[1 + n %% 2],
        CASE WHEN n > {2 * (ROWS - FEW)} THEN 'customer.created'
             WHEN n / 2 %% 2 = 0 THEN 'payment_intent.created'
             ELSE 'payment_intent.succeeded' END,
        'x', 'x_' || n, 1, 'req_' || n, repeat('x', 400)::bytea,
        now() - (n || ' seconds')::interval
    FROM generate_series(1, {2 * ROWS}) AS n
"""  # noqa: S608
# A page is read by an index search of each type, of three or four buffers, and its own rows.
BUFFERS_MAX = 4 * len(types.names()) + 5 * LIMIT


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many events, among those of another."""
    with django_db_blocker.unblock():
        other, shop = MerchantFactory(), MerchantFactory()
        vacuum("events_event")
        with connection.cursor() as cursor:
            # VACUUM would leave out what is not on the disk so far.
            cursor.execute("SET synchronous_commit = on")
            cursor.execute(FILL, [[other.id, shop.id]])
            cursor.execute("RESET synchronous_commit")
        vacuum("events_event")
        yield shop
        empty("default")


def without(shop: Merchant, hidden: tuple[str, ...]) -> EventRows:
    rows = Event.objects.for_merchant(shop)
    return rows.of_types(name for name in types.names() if name not in hidden)


def read(rows: EventRows, query: str) -> Read:
    found = list_reads.read(rows, f"{query}&limit={LIMIT}", EVENTS)
    print(f"{query}: {len(found.ids)} rows, {found.buffers} buffers, {found.nodes}")  # noqa: T201
    return found


@pytest.mark.parametrize("query", ["", "sort=created", "created[gte]=1"])
@pytest.mark.parametrize("hidden", [PAYMENTS, ("refund.created",)], ids=["most", "none of them"])
def test_a_page_is_read_by_an_index_of_each_type(
    query: str, hidden: tuple[str, ...], shop: Merchant
) -> None:
    found = read(without(shop, hidden), query)

    assert len(found.ids) == LIMIT
    assert "Seq Scan" not in found.nodes
    assert found.buffers <= BUFFERS_MAX


def test_a_deep_page_reads_as_much_as_the_first(shop: Merchant) -> None:
    rows = without(shop, ("refund.created",))
    deep_id = rows.order_by("-created_at", "-id").values_list("id", flat=True)[DEPTH]

    first, deep = read(rows, ""), read(rows, f"starting_after={deep_id}")

    assert len(deep.ids) == LIMIT
    assert deep.buffers <= first.buffers + 20


def test_families_of_types_are_read_so_too(shop: Merchant) -> None:
    """Without a limited key: `type=customer.*` is three types, whose events are the oldest."""
    found = read(Event.objects.for_merchant(shop), "type=customer.*")

    assert len(found.ids) == LIMIT
    assert found.buffers <= BUFFERS_MAX


@pytest.mark.parametrize("hidden", [PAYMENTS, ("refund.created",)], ids=["most", "none of them"])
def test_a_count_stops_at_its_bound_and_walks_through_nothing_hidden(
    hidden: tuple[str, ...], shop: Merchant
) -> None:
    counted = read(without(shop, hidden), "include[]=total_count")

    assert "Seq Scan" not in counted.nodes
    assert counted.buffers <= BUFFERS_MAX + lists.TOTAL_MAX / 10


def test_one_index_in_order_of_time_would_be_walked_through_all_that_is_hidden(
    shop: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EVENTS.filters, "parts", lambda _self, _rows: None)
    with connection.cursor() as cursor:
        # As the planner takes it to be where the hidden ones are half of all.
        cursor.execute("SET LOCAL enable_sort = off")

    walked = read(without(shop, PAYMENTS), "")

    assert walked.buffers > 10 * BUFFERS_MAX
