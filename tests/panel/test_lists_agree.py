"""The panel's rows, the file's and the API's are the same, in the same order, for any filter.

Through any size of page and in both directions; and while rows come and go, none that stays is
missed or told twice.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from unittest import mock
from urllib.parse import urlencode

import pytest

from core import clock
from core.rest import list_walks, lists
from merchants.models import RequestLog, User
from panel.merchants import exports, listing
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory, RequestLogFactory
from tests.stage.hooks import tell
from tests.stage.lengths import chance, length, tried
from tests.stage.teams import person, signed_in

pytestmark = [pytest.mark.django_db(databases=["default", "bank"]), pytest.mark.timeout(1800)]

ROWS = 30
# Rows come and go after so many pages of a walk: those that come faster than they are read would
# keep it from its end.
STIRRED_PAGES = 6
API = {
    "payments": "payment_intents", "customers": "customers", "request_logs": "request_logs",
    "events": "events",
}  # fmt: skip
# Rows are so many seconds old, several of each age.
OLDEST, YOUNGEST = 200, 100
Query = list[tuple[str, str]]


class Shop:
    """A merchant with rows of each kind, which come and go."""

    def __init__(self, acme: ApiClient, owner: User, draw: Random) -> None:
        self.acme, self.draw = acme, draw
        self.person, self.owner = owner, signed_in(owner)
        self.begun = clock.now()
        for _ in range(ROWS):
            for kind in API:
                self.bring(kind)

    def sign_in_anew(self) -> None:
        """Download for some minutes more: so long a sign-in is proof enough of who somebody is."""
        self.owner = signed_in(self.person)

    def moment(self) -> Any:
        return self.begun - timedelta(seconds=self.draw.randrange(YOUNGEST, OLDEST, 7))

    def bring(self, kind: str) -> None:
        {
            "payments": self._pay, "customers": self._meet, "request_logs": self._call,
            "events": self._tell,
        }[kind]()  # fmt: skip

    def take(self, kind: str, *, but: str) -> None:
        """Let a row go: a payment is called off, a customer deleted, a request forgotten.

        :param but: the row from which a list goes on.
        """
        mine = self.acme.merchant
        if kind == "payments":
            rows = PaymentIntent.objects.filter(merchant=mine, status="requires_payment_method")
            if gone := rows.exclude(id=but).order_by("?").first():
                PaymentIntent.objects.filter(id=gone.id).update(status="canceled")
        elif kind == "customers":
            existing = Customer.objects.filter(merchant=mine, deleted_at=None).exclude(id=but)
            if customer := existing.order_by("?").first():
                customers.delete(mine, customer.id)
        elif kind == "request_logs":
            older = RequestLog.objects.filter(merchant=mine, created_at__lt=self.begun)
            if log := older.exclude(id=but).order_by("?").first():
                log.delete()

    def stir(self, kind: str, last: str) -> None:
        for _ in range(self.draw.randrange(3)):
            self.bring(kind)
        self.take(kind, but=last)

    def _pay(self) -> None:
        is_paid = self.draw.random() < 0.6
        amount = 100 * self.draw.randrange(1, 8)
        PaymentFactory(
            merchant=self.acme.merchant, created_at=self.moment(), amount=amount,
            status="succeeded" if is_paid else "requires_payment_method",
            currency=self.draw.choice(["try", "usd"]),
            capture_method=self.draw.choice(["automatic", "manual"]),
            description=f"Order {self.draw.randrange(4)}",
            metadata={"order": str(self.draw.randrange(3))},
            **dict.fromkeys(("authorized_minor", "captured_minor"), amount if is_paid else 0),
        )  # fmt: skip

    def _meet(self) -> None:
        email = f"payer{self.draw.randrange(2)}@x.example"
        made = customers.create(self.acme.merchant, CreateCustomerForm.read({"email": email}))
        Customer.objects.filter(pk=made.pk).update(created_at=self.moment())

    def _call(self) -> None:
        RequestLogFactory(
            merchant=self.acme.merchant, created_at=self.moment(),
            status=self.draw.choice([200, 404, 500]), method=self.draw.choice(["GET", "POST"]),
        )  # fmt: skip

    def _tell(self) -> None:
        kinds = ["customer.created", "customer.updated", "customer.deleted"]
        tell(self.acme.merchant, f"cus_{self.draw.randrange(9)}", self.draw.choice(kinds))


@pytest.fixture
def shop(acme: ApiClient, globex: ApiClient) -> Shop:
    PaymentFactory(merchant=globex.merchant, created_at=clock.now() - timedelta(seconds=150))
    owner = person("ada@acme.example", (acme.merchant, "owner"))
    return Shop(acme, owner, chance("lists agree"))


def a_filter(shop: Shop, kind: str) -> Query:
    """Draw a filter and an order."""
    draw, now = shop.draw, clock.unix(shop.begun)
    found: Query = []
    options: dict[str, list[Query]] = {
        "payments": [
            [("currency", "usd")], [("status", "succeeded")],
            [("status[]", "requires_payment_method"), ("status[]", "succeeded")],
            [("amount[gte]", str(draw.randrange(100, 500)))],
            [("amount[lt]", str(draw.randrange(300, 900)))],
            [("capture_method", "manual")], [("metadata[order]", "1")], [("q", "order 2")],
        ],
        "customers": [[("email", "payer1@x.example")]],
        "request_logs": [[("status", "4xx")], [("status", "500")], [("method", "GET")]],
        "events": [[("type", "customer.updated")], [("aggregate_type", "customer")]],
    }  # fmt: skip
    for one in options[kind]:
        found += one if draw.random() < 0.3 else []
    # A status is named once, or as one of several.
    named = [pair for pair in found if pair[0].startswith("status")]
    found = [pair for pair in found if pair not in named]
    found += named[:1] if named and named[0][0] == "status" else named
    if draw.random() < 0.4:
        bound = draw.choice(["created[gte]", "created[gt]"])
        found.append((bound, str(now - draw.randrange(YOUNGEST, OLDEST))))
    if kind == "request_logs" or draw.random() < 0.3:
        # Of request logs always: calls of this test are such rows, too.
        found.append(("created[lt]", str(now - draw.randrange(0, YOUNGEST + 50))))
    orders = ["-created", "created", *(["amount", "-amount"] if kind == "payments" else [])]
    return [*found, ("sort", draw.choice(orders))]


# --- Three ways to read a list, each telling where it is before it asks for more ------------------


def by_api(
    shop: Shop, kind: str, query: Query, *, size: int, back: bool = False
) -> Iterator[list[str]]:
    """Read page after page; back from the last row: each page before the one that came before."""
    cursor = "ending_before" if back else "starting_after"
    edge = _last_of(shop, kind, query) if back else ""
    if back and edge:
        yield [edge]
    while edge or not back:
        asked = [*query, ("limit", str(size)), *([(cursor, edge)] if edge else [])]
        page = shop.acme.get(f"/v1/{API[kind]}?{urlencode(asked)}")
        assert page.status == 200, (query, page.body)
        rows = [one["id"] for one in page["data"]]
        yield rows
        if not rows or not page["has_more"]:
            return
        edge = rows[0] if back else rows[-1]


def by_panel(
    shop: Shop, kind: str, query: Query, *, size: int, back: bool = False
) -> Iterator[list[str]]:
    """Follow the links Older, or Newer from the last row."""
    cursor = "ending_before" if back else "starting_after"
    edge = _last_of(shop, kind, query) if back else ""
    if back and edge:
        yield [edge]
    while edge or not back:
        asked = [*query, *([(cursor, edge)] if edge else [])]
        url = f"/panel/{shop.acme.merchant.id}/{kind}?{urlencode(asked)}"
        with mock.patch.object(listing, "ROWS_SHOWN", str(size)):
            answer = shop.owner.get(url)
        assert answer.status_code == 200, query
        page = answer.context["page"]
        rows = [one.id for one in page.rows]
        yield rows
        if not rows or not page.has_more:
            return
        edge = rows[0] if back else rows[-1]


def by_file(
    shop: Shop, kind: str, query: Query, *, size: int, back: bool = False
) -> Iterator[list[str]]:
    """Read the file as it comes; it has one direction."""
    url = f"/panel/{shop.acme.merchant.id}/{kind}/export?{urlencode(query)}"
    with (
        mock.patch.object(exports, "PAGE_ROWS", size),
        mock.patch("core.csv_rows.PIECE_CHARACTERS", 1),
    ):
        answer = shop.owner.post(url)
        assert answer.status_code == 200, query
        for piece in answer.streaming_content:
            text = piece.decode("utf-8-sig")
            found = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
            yield [one for one in found if one != "id"]


def _last_of(shop: Shop, kind: str, query: Query) -> str:
    rows = whole(by_api, shop, kind, query, size=100)
    return rows[-1] if rows else ""


Way = Callable[..., Iterator[list[str]]]


def whole(way: Way, *place: Any, size: int, back: bool = False) -> list[str]:
    """Return the rows of all pages in the order of the list."""
    pages = list(way(*place, size=size, back=back))
    return [row for page in (reversed(pages) if back else pages) for row in page]


@pytest.mark.proof(part="walks")
def test_three_ways_tell_the_same_rows_in_the_same_order(shop: Shop) -> None:
    asked = [kind for kind in API for _ in range(length(short=6, full=30))]
    found = 0

    for kind in asked:
        shop.sign_in_anew()
        query, size = a_filter(shop, kind), shop.draw.randrange(1, 40)
        rows = whole(by_api, shop, kind, query, size=100)
        for way, back in ((by_api, False), (by_api, True), (by_panel, False), (by_panel, True),
                          (by_file, False)):  # fmt: skip
            told = whole(way, shop, kind, query, size=size, back=back)
            assert told == rows, (way.__name__, back, size, query)
        found += bool(rows)

    assert found > len(asked) // 2
    tried(len(asked), "filters")


@pytest.mark.proof(part="walks")
def test_rows_that_stay_are_told_once_while_others_come_and_go(shop: Shop) -> None:
    asked = [kind for kind in API for _ in range(length(short=2, full=8))]
    changed = 0

    for kind in asked:
        shop.sign_in_anew()
        query, size = a_filter(shop, kind), shop.draw.randrange(1, 9)
        for way, back in ((by_api, False), (by_api, True), (by_panel, False), (by_panel, True),
                          (by_file, False)):  # fmt: skip
            before = whole(by_api, shop, kind, query, size=100)
            pages = []
            for page in way(shop, kind, query, size=size, back=back):
                pages.append(page)
                if page and len(pages) <= STIRRED_PAGES:
                    shop.stir(kind, page[0] if back else page[-1])
            told = [row for page in (reversed(pages) if back else pages) for row in page]
            after = whole(by_api, shop, kind, query, size=100)
            stayed = [row for row in before if row in after]

            place = (way.__name__, back, size, query)
            assert len(told) == len(set(told)), place
            assert [row for row in told if row in stayed] == stayed, place
            assert [row for row in after if row in told] == [r for r in told if r in after], place
            changed += before != after

    assert changed > len(asked)
    tried(len(asked), "filters of lists that change")


# --- The walk finds what it is there for ------------------------------------------------------


def a_page_of_the_panel_lacks_its_last_row(patch: pytest.MonkeyPatch) -> None:
    real = listing.page
    patch.setattr(listing, "page", lambda *of, **more: shorter(real(*of, **more)))


def a_file_begins_each_page_at_the_last_row(patch: pytest.MonkeyPatch) -> None:
    real = list_walks.walk
    patch.setattr(list_walks, "walk", lambda *of, size: overlapping(real(*of, size=size)))


def the_panel_sorts_by_id(patch: pytest.MonkeyPatch) -> None:
    real = listing.asked
    patch.setattr(listing, "asked", lambda query, spec: without(real(query, spec), "sort"))


def shorter(page: lists.Page) -> lists.Page:
    return replace(page, rows=page.rows[:-1])


def overlapping(pages: Iterator[Any]) -> Iterator[Any]:
    last: list[Any] = []
    for rows in pages:
        yield [*last, *rows]
        last = list(rows[-1:])


def without(query: Any, name: str) -> Any:
    query.pop(name, None)
    return query


PLANTS = [
    a_page_of_the_panel_lacks_its_last_row,
    a_file_begins_each_page_at_the_last_row,
    the_panel_sorts_by_id,
]


@pytest.mark.parametrize("plant", PLANTS)
def test_the_walk_finds_a_planted_fault(
    shop: Shop, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises(AssertionError):
        test_three_ways_tell_the_same_rows_in_the_same_order(shop)
