"""A range of what a list is sorted by goes together with a cursor, wherever the cursor stands."""

import operator
from collections.abc import Iterator
from itertools import product

import pytest
from django.db.models import QuerySet
from django.http import QueryDict

from core.rest import lists
from payments.charging.views import PaymentIntentViewSet
from payments.intents.models import PaymentIntent
from tests.stage.factories import MerchantFactory, PaymentFactory

pytestmark = pytest.mark.django_db

SPEC = PaymentIntentViewSet.lists["list"]
AMOUNTS = (100, 200, 200, 200, 300, 400)
OPERATORS = {
    "": operator.eq, "[gt]": operator.gt, "[gte]": operator.ge, "[lt]": operator.lt,
    "[lte]": operator.le,
}  # fmt: skip
CURSORS = ("starting_after", "ending_before")


@pytest.fixture
def rows() -> QuerySet:
    merchant = MerchantFactory()
    for amount in AMOUNTS:
        PaymentFactory(
            merchant=merchant, amount=amount, authorized_minor=amount, captured_minor=amount
        )
    return PaymentIntent.objects.for_merchant(merchant)


def queries() -> Iterator[tuple[str, str, str, int]]:
    return product(("amount", "-amount"), CURSORS, OPERATORS, sorted(set(AMOUNTS)))


def expected(order: list[tuple[int, str]], cursor: str, place: int, ask: str, value: int) -> list:
    beyond = order[place + 1 :] if cursor == "starting_after" else order[:place]
    return [row_id for amount, row_id in beyond if OPERATORS[ask](amount, value)]


def wrong_pages(rows: QuerySet) -> tuple[int, int]:
    """Return how many pages there are of all ranges and cursors, and how many are wrong."""
    upward = sorted(rows.values_list("amount", "id"))
    pages = wrong = 0
    for sort, cursor, ask, value in queries():
        order = upward[::-1] if sort.startswith("-") else upward
        for place, (_, row_id) in enumerate(order):
            query = f"sort={sort}&amount{ask}={value}&{cursor}={row_id}"
            page = lists.page(rows, QueryDict(query), SPEC, url="/")
            found = [row.id for row in page.rows]
            wrong += found != expected(order, cursor, place, ask, value)
            pages += 1
    return pages, wrong


def test_every_range_is_right_from_every_cursor(rows: QuerySet) -> None:
    pages, wrong = wrong_pages(rows)

    print(f"{pages} pages")  # noqa: T201
    assert (pages, wrong) == (480, 0)


def test_a_range_that_is_taken_for_implied_is_found(
    rows: QuerySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists.Bound, "is_met_by", lambda *_: True)

    assert wrong_pages(rows)[1] > 0


def test_the_count_is_of_the_whole_range(rows: QuerySet) -> None:
    cursor = rows.order_by("amount").first().id
    query = f"sort=amount&amount[gte]=200&starting_after={cursor}&limit=1&include[]=total_count"

    page = lists.page(rows, QueryDict(query), SPEC, url="/")

    assert (page.total_count, page.has_more) == (5, True)
