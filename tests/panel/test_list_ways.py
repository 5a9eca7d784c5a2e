"""Above and on lists: tabs with counts, days, heads that sort, and rows of one line."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import clock
from core.rest import lists
from panel.merchants import list_ways, listing
from panel.patience import TookTooLong
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory, PaymentFactory
from tests.stage.panel_pages import THINGS
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TAB = re.compile(
    r'<li><a href="(\?[^"]*)"( aria-current="page")?>([^<]+?)'
    r'(?: <span class="count">([^<]+)</span>)?</a>'
)
HEAD = re.compile(r'<th scope="col"(?: aria-sort="(\w+)")?><a href="([^"]+)">([^<]+)')
UNCHARGED = dict.fromkeys(("authorized_minor", "captured_minor"), 0)


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def seen(client: Client, acme: ApiClient, query: str = "", listed: str = "payments") -> str:
    page = client.get(f"/panel/{acme.merchant.id}/{listed}?{query}")
    assert page.status_code == 200
    return page.content.decode()


def ways(page: str) -> dict[str, tuple[str, bool, str]]:
    """Return the links above a list by their words: address, whether current, number."""
    return {
        word: (unescape(url), bool(now), number) for url, now, word, number in TAB.findall(page)
    }


def test_each_status_has_a_tab_that_counts_its_rows(owner: Client, acme: ApiClient) -> None:
    for _ in range(28):
        PaymentFactory(merchant=acme.merchant)
    for _ in range(3):
        PaymentFactory(merchant=acme.merchant, status="canceled", currency="usd", **UNCHARGED)

    every = ways(seen(owner, acme))
    canceled = seen(owner, acme, every["Canceled"][0].removeprefix("?"))
    dollars = ways(seen(owner, acme, "currency=usd&starting_after="))

    assert {word: found[1:] for word, found in every.items() if found[2]} == {
        "All": (True, "31"), "Succeeded": (False, "28"), "Canceled": (False, "3"),
    }  # fmt: skip
    assert canceled.count('class="amt-cell"') == 3
    assert ways(canceled)["Canceled"] == (every["Canceled"][0], True, "3")
    assert ways(canceled)["All"][1:] == (False, "31")
    assert {word: found[2] for word, found in dollars.items() if found[2]} == {
        "All": "3", "Canceled": "3",
    }  # fmt: skip


def test_the_tabs_count_as_the_api_does(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        status = ("succeeded", "canceled", "processing")[number % 3]
        PaymentFactory(
            merchant=acme.merchant, status=status, amount=12500 + number,
            **dict.fromkeys(UNCHARGED, 12500 + number if status == "succeeded" else 0),
        )  # fmt: skip
    for query in ("", "amount[gte]=12505", "amount[lt]=12530&sort=amount", "currency=try"):
        found = ways(seen(owner, acme, query))
        for word, status in (("Succeeded", "succeeded"), ("Processing", "processing")):
            asked = f"/v1/payment_intents?{query}&status[]={status}&include[]=total_count"
            assert found[word][2] == str(acme.get(asked)["total_count"]), (query, word)


def test_the_tabs_count_what_is_found_by_metadata(owner: Client, acme: ApiClient) -> None:
    for order in ("7", "7", "8"):
        body = {"amount": 12500, "currency": "try", "metadata": {"order": order}}
        acme.post("/v1/payment_intents", body)

    found = ways(seen(owner, acme, "status=canceled&metadata[order]=7"))

    assert found["All"][2] == "2"


def test_many_rows_are_counted_up_to_the_most_that_is_shown(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (lists, list_ways):
        monkeypatch.setattr(module, "TOTAL_MAX", 26)
    for _ in range(28):
        PaymentFactory(merchant=acme.merchant)

    assert ways(seen(owner, acme))["Succeeded"][2] == "26+"


def test_tabs_have_no_numbers_where_counting_takes_too_long(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(28):
        PaymentFactory(merchant=acme.merchant)

    def give_up(*_asked: Any) -> None:
        raise TookTooLong

    monkeypatch.setattr(listing.lists, "total_of_each", give_up)
    page = seen(owner, acme)

    assert ways(page)["Succeeded"][2] == ""
    assert page.count('class="amt-cell"') == 25


def test_a_list_without_a_row_has_no_tabs(owner: Client, acme: ApiClient) -> None:
    assert ways(seen(owner, acme, listed="refunds")) == {}


@pytest.fixture
def march(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Half past midnight in Istanbul, on the first of March."""
    now = datetime(2026, 2, 28, 21, 30, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    return now


def at(year: int, month: int, day: int) -> int:
    """Return when a day begins in Istanbul."""
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) - 3 * 3600


@pytest.mark.usefixtures("march")
def test_days_are_the_merchants_and_lead_to_the_same_list(acme: ApiClient) -> None:
    query = listing.QueryDict("status[]=canceled&created[gt]=5&starting_after=pi_x")

    found = {
        str(way.label): dict(parse_qsl(way.url[1:]))
        for way in list_ways.days(query, "Europe/Istanbul")
    }

    kept = {"status[]": "canceled"}
    assert {word: one.pop("status[]") for word, one in found.items()} == dict.fromkeys(
        found, kept["status[]"]
    )
    assert found == {
        "Any time": {},
        "Today": {"created[gte]": str(at(2026, 3, 1))},
        "Yesterday": {
            "created[gte]": str(at(2026, 2, 28)), "created[lt]": str(at(2026, 3, 1)),
        },
        "7 days": {"created[gte]": str(at(2026, 2, 23))},
        "This month": {"created[gte]": str(at(2026, 3, 1))},
        "Last month": {"created[gte]": str(at(2026, 2, 1)), "created[lt]": str(at(2026, 3, 1))},
    }  # fmt: skip


def test_the_chosen_days_are_current(owner: Client, acme: ApiClient) -> None:
    now = clock.now()
    PaymentFactory(merchant=acme.merchant, created_at=now - timedelta(days=3))

    before = ways(seen(owner, acme))
    page = seen(owner, acme, before["7 days"][0].removeprefix("?"))
    today = seen(owner, acme, before["Today"][0].removeprefix("?"))

    current = {word for word, found in ways(page).items() if found[1]}
    # On the seventh the month has as many days.
    assert current - {"This month"} == {"All", "7 days"}
    assert page.count('class="amt-cell"') == 1
    assert today.count('class="amt-cell"') == 0


def test_heads_sort_by_the_apis_keys_and_turn_round(owner: Client, acme: ApiClient) -> None:
    for amount in (300, 100, 200):
        PaymentFactory(merchant=acme.merchant, amount=amount, **dict.fromkeys(UNCHARGED, amount))

    def heads(query: str) -> dict[str, tuple[str, str]]:
        page = seen(owner, acme, query)
        return {word.strip(): (sort, unescape(url)) for sort, url, word in HEAD.findall(page)}

    first = heads("currency=try")
    down = heads(first["Amount"][1].removeprefix("?"))
    up = heads(down["Amount"][1].removeprefix("?"))

    assert {word: sort for word, (sort, _url) in first.items()} == {
        "Amount": "", "Date": "descending",
    }  # fmt: skip
    assert first["Amount"][1] == "?currency=try&sort=-amount"
    assert (down["Amount"][0], up["Amount"][0]) == ("descending", "ascending")
    assert down["Date"] == ("", "?currency=try&sort=-created")


def test_disputes_sort_by_their_deadline_the_first_due_first(
    owner: Client, acme: ApiClient
) -> None:
    THINGS["dispute"](acme.merchant)

    assert "?sort=evidence_due_by" in seen(owner, acme, listed="disputes")


def test_a_row_says_for_what_who_paid_and_what_came_after(owner: Client, acme: ApiClient) -> None:
    row = PaymentFactory(
        merchant=acme.merchant, description="Sipariş 5131", refunded_minor=2500,
        billing_details={"email": "zeynep.kaya@example.com", "name": "Zeynep"},
    )  # fmt: skip
    declined = {"code": "card_declined", "decline_code": "insufficient_funds"}
    PaymentFactory(
        merchant=acme.merchant, status="requires_payment_method", last_payment_error=declined,
        **UNCHARGED,
    )  # fmt: skip
    held = PaymentFactory(
        merchant=acme.merchant, status="requires_capture", amount_capturable=12500,
        captured_minor=0, created_at=datetime(2026, 12, 2, tzinfo=UTC),
    )  # fmt: skip
    attempt = AttemptFactory(intent=held, status="authorized", closed_at=clock.now(), due_at=None)
    type(held).objects.filter(pk=held.pk).update(attempt_ids=[attempt.pk])

    page = seen(owner, acme)

    assert 'title="Sipariş 5131 · zeynep.kaya@example.com"' in page
    assert "₺25.00 given back" in page
    assert "no money or limit" in page
    assert re.search(r"until \d+ \w{3}<", page)
    assert f">{row.id[:3]}…{row.id[-4:]}<" in page
    assert f'data-copy="{row.id}"' in page


def test_payers_of_a_page_are_found_together(owner: Client, acme: ApiClient) -> None:
    customers = [
        acme.post("/v1/customers", {"email": f"payer{number}@x.example"})["id"]
        for number in range(10)
    ]
    for customer in customers:
        PaymentFactory(merchant=acme.merchant, customer_id=customer)

    with CaptureQueriesContext(connection) as statements:
        page = seen(owner, acme)

    assert all(f"payer{number}@x.example" in page for number in range(10))
    assert sum("customers_customer" in one["sql"] for one in statements) == 1
