"""A client that pages through a changing list sees each row that stayed exactly once."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.db.models import Q, QuerySet
from django.http import QueryDict
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from core.rest import lists
from merchants.models import Merchant
from payments.intents.models import PaymentIntent
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import SEED, tried

pytestmark = pytest.mark.django_db

SPEC = lists.ListSpec(sort_keys={"created": "created_at", "amount": "amount"})
SORTS = ("created", "-created", "amount", "-amount")
EXAMPLES, PROOF_EXAMPLES = 10, 250
PAGES_MAX = 100
PHASES = (Phase.generate,)  # A failing walk need not be made smaller: it is small.
DAY = datetime(2026, 11, 1, tzinfo=UTC)

# Few values, so that many rows share one.
second = amount = st.integers(1, 3)
place = st.integers(0, 30)
edit = st.one_of(
    st.tuples(st.just("insert"), second, amount),
    st.tuples(st.just("delete"), place, st.none()),
    st.tuples(st.just("hide"), place, st.none()),
    st.tuples(st.just("reprice"), place, amount),
    st.tuples(st.just("describe"), place, st.none()),
)


class Plan(NamedTuple):
    """One walk: the rows at its beginning, a page's size, and the changes after each page."""

    rows: list[tuple[int, int]]
    limit: int
    edits: list[list[tuple[str, int, Any]]]


plans = st.builds(
    Plan,
    st.lists(st.tuples(second, amount), min_size=4, max_size=14),
    st.integers(1, 3),
    st.lists(st.lists(edit, max_size=3), min_size=3, max_size=12),
)


class Shelf:
    """A merchant's payments; `stayed` are those that were listed all the time, in one place."""

    def __init__(self, merchant: Merchant, sort: str, rows: list[tuple[int, int]]) -> None:
        PaymentIntent.objects.all().delete()
        self.all = PaymentIntent.objects.for_merchant(merchant)
        self.merchant, self.sort, self.made = merchant, sort, 0
        self.moved: set[str] = set()
        PaymentIntent.objects.bulk_create(self._row(*row) for row in rows)
        self.stayed = set(self.listed.values_list("id", flat=True))
        # Behind all others in the list's order: where a walk from its end begins.
        is_ascending = not sort.startswith("-")
        self.end = self.insert(9, 9, "pi_z") if is_ascending else self.insert(0, 1, "pi_")

    @property
    def listed(self) -> QuerySet:
        return self.all.exclude(status="canceled")

    def insert(self, seconds: int, price: int, row_id: str | None = None) -> str:
        row = self._row(seconds, price, row_id)
        row.save(force_insert=True)
        return row.id

    def _row(self, seconds: int, price: int, row_id: str | None = None) -> PaymentIntent:
        self.made += 1
        return PaymentIntent(
            id=row_id or f"pi_{self.made * 7919 % 10007:024}",  # In no order of their making.
            merchant=self.merchant,
            status="requires_payment_method",
            capture_method="automatic",
            currency="try",
            amount=price,
            created_at=DAY + timedelta(seconds=seconds),
        )

    def change(self, kind: str, value: int, price: int | None, cursor: str | None) -> None:
        if kind == "insert":
            self.insert(value, price)
        elif rows := self.listed.exclude(id=self.end).order_by("id").values_list("id", flat=True):
            row_id = rows[value % len(rows)]
            CHANGES[kind](self, row_id, price, row_id == cursor)

    def delete(self, row_id: str, _price: None, is_cursor: bool) -> None:
        # A deleted row stays a valid cursor, so one that is the cursor is only hidden.
        self.stayed.discard(row_id)
        row = self.all.filter(id=row_id)
        row.update(status="canceled") if is_cursor else row.delete()

    def hide(self, row_id: str, _price: None, _is_cursor: bool) -> None:
        self.stayed.discard(row_id)
        self.all.filter(id=row_id).update(status="canceled")

    def reprice(self, row_id: str, price: int, is_cursor: bool) -> None:
        if "amount" in self.sort:
            if is_cursor:
                return  # A cursor stands where its row is now: moved, it leads elsewhere.
            self.stayed.discard(row_id)
            self.moved.add(row_id)
        self.all.filter(id=row_id).update(amount=price)

    def describe(self, row_id: str, _price: None, _is_cursor: bool) -> None:
        self.all.filter(id=row_id).update(description="Tea")


CHANGES: dict[str, Callable[..., None]] = {
    name: getattr(Shelf, name) for name in ("delete", "hide", "reprice", "describe")
}


def walk(sort: str, param: str, plan: Plan) -> int:
    """Walk the whole list, while the plan happens; return how many pages it took."""
    shelf = Shelf(MerchantFactory(), sort, plan.rows)
    cursor = shelf.end if param == "ending_before" else None
    seen: Counter[str] = Counter()
    edits, pages, has_more = iter(plan.edits), 0, True
    while has_more:
        after = f"&{param}={cursor}" if cursor else ""
        query = QueryDict(f"sort={sort}&limit={plan.limit}{after}")
        page = lists.page(shelf.listed, query, SPEC, url="/", cursors=shelf.all)
        found = [row.id for row in page.rows]
        seen.update(found)
        if found:
            cursor = found[-1] if param == "starting_after" else found[0]
        has_more, pages = page.has_more, pages + 1
        assert pages <= PAGES_MAX, "walks in a circle"
        for change in next(edits, []):
            shelf.change(*change, cursor)
    assert {row: seen[row] for row in shelf.stayed} == dict.fromkeys(shelf.stayed, 1)
    assert {row for row, times in seen.items() if times > 1} <= shelf.moved
    return pages


def walks(sort: str, param: str, examples: int = EXAMPLES) -> int:
    """Walk a list under many plans; return how many pages were read."""
    pages = 0

    @seed(SEED)
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=PHASES)
    @given(plans)
    def each_row_is_seen_once(plan: Plan) -> None:
        nonlocal pages
        pages += walk(sort, param, plan)

    each_row_is_seen_once()
    return pages


PARAMS = ("starting_after", "ending_before")


@pytest.mark.parametrize("param", PARAMS)
@pytest.mark.parametrize("sort", SORTS)
def test_a_walk_sees_each_row_that_stayed_exactly_once(sort: str, param: str) -> None:
    pages = walks(sort, param)

    print(f"{sort} by {param}: {EXAMPLES} walks, {pages} pages")  # noqa: T201
    assert pages > 2 * EXAMPLES


@pytest.mark.proof(part="walks")
@pytest.mark.only_full("its twin above is in every run")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("param", PARAMS)
@pytest.mark.parametrize("sort", SORTS)
def test_very_many_walks_see_each_row_that_stayed_exactly_once(sort: str, param: str) -> None:
    pages = walks(sort, param, PROOF_EXAMPLES)

    tried(pages, "pages of lists that change")
    assert pages > 2 * PROOF_EXAMPLES


def by_key_alone(columns: Sequence[str], edge: Sequence[Any], *, is_upward: bool) -> Q:
    return Q(**{f"{columns[0]}__{'gt' if is_upward else 'lt'}": edge[0]})


def by_key_or_equal(columns: Sequence[str], edge: Sequence[Any], *, is_upward: bool) -> Q:
    return Q(**{f"{columns[0]}__{'gte' if is_upward else 'lte'}": edge[0]}) & ~Q(id=edge[1])


def by_id_alone(columns: Sequence[str], edge: Sequence[Any], *, is_upward: bool) -> Q:
    return Q(**{f"id__{'gt' if is_upward else 'lt'}": edge[1]})


@pytest.mark.parametrize("wrong", [by_key_alone, by_key_or_equal, by_id_alone])
def test_a_walk_past_a_wrong_edge_is_found(
    wrong: Callable[..., Q], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_beyond", wrong)

    with pytest.raises(AssertionError):
        walks("-amount", "starting_after")
