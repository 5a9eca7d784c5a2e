"""The movements of the balance: what each was for, its sums, and the balance after it."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.rest import lists
from ledger import checkpoints, day_sums
from panel.patience import TookTooLong
from tests.stage.book_keeping import Till, price
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in
from tests.stage.transfers import pay_out, rich

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CELL = re.compile(r'<td class="num" data-name="Balance"><span class="amt">([^<]+)</span>( <small)?')
# Of the request itself: savepoints, and the limit of the page's time.
CONTROL = ("SAVEPOINT", "RELEASE", "SET ", "ROLLBACK")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def read(client: Client, acme: ApiClient, **query: Any) -> str:
    page = client.get(address("movements", acme.merchant.id), query)
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def balances(page: str) -> list[str]:
    return [amount for amount, _provisional in CELL.findall(page)]


@pytest.mark.usefixtures("bank")
def test_each_movement_says_what_it_was_for_and_leads_there(owner: Client, acme: ApiClient) -> None:
    price(acme.merchant)
    payment = acme.pay(amount=100_00, description="Sipariş 5120")["id"]
    acme.refund(payment, 40_00)
    rich(acme, 500_00)
    payout = pay_out(acme, 90_00)["id"]

    page = read(owner, acme)

    for words in (
        "Sipariş 5120", f"/payments/{payment}", "Visa •••• 4242", f"/payouts/{payout}", "+₺100.00",
        "−₺2.75", "+₺97.25", "−₺40.00", "−₺90.00", "Payout", "Refund", "Charge", "Top-up",
    ):  # fmt: skip
        assert words in page, words
    assert balances(page) == ["₺467.25", "₺557.25", "₺57.25", "₺97.25"]


def test_the_balance_is_of_all_rows_up_to_it_whatever_the_filter(
    owner: Client, acme: ApiClient
) -> None:
    till = Till(acme.merchant)
    for amount in (10_00, 20_00, 30_00):
        till.topup(amount)
        till.payout(1_00)

    payouts = read(owner, acme, type="payout")
    upward = read(owner, acme, type="payout", sort="created")

    assert balances(payouts) == ["₺57.00", "₺28.00", "₺9.00"]
    assert balances(upward) == ["₺9.00", "₺28.00", "₺57.00"]
    assert "3 movements" in payouts
    assert 'net <span class="amt">−₺3.00</span>' in payouts


def test_there_is_no_balance_in_another_order(owner: Client, acme: ApiClient) -> None:
    Till(acme.merchant).topup(10_00)

    page = read(owner, acme, sort="-amount")

    assert "+₺10.00" in page
    assert balances(page) == []


def test_balances_that_take_long_are_left_out(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    Till(acme.merchant).topup(10_00)

    def late(*_: object) -> None:
        raise TookTooLong

    monkeypatch.setattr(day_sums, "balances_after", late)

    page = read(owner, acme)

    assert "+₺10.00" in page
    assert balances(page) == []
    assert "The balance after each movement took too long" in page


def test_what_no_checkpoint_has_is_provisional(owner: Client, acme: ApiClient) -> None:
    till = Till(acme.merchant)
    till.topup(10_00)
    checkpoints.advance()
    till.topup(5_00)

    cells = CELL.findall(read(owner, acme))

    assert cells == [("₺15.00", " <small"), ("₺10.00", "")]


def test_currencies_are_apart(owner: Client, acme: ApiClient) -> None:
    rich(acme, 777_00)
    rich(acme, 5, "usd")

    lira, dollars = read(owner, acme), read(owner, acme, currency="usd")

    assert "?currency=usd" in lira
    assert (balances(lira), balances(dollars)) == (["₺777.00"], ["$0.05"])
    assert 'name="currency" value="usd"' in dollars


def test_the_day_of_availability_leads_to_the_settlement(owner: Client, acme: ApiClient) -> None:
    till = Till(acme.merchant)
    till.charge(100_00)
    pending = read(owner, acme)
    run = till.settle()
    assert run

    settled = read(owner, acme)

    assert ("Pending until" in pending, "/settlements/" in pending) == (True, False)
    assert ("Pending until" in settled, f"/settlements/{run.id}" in settled) == (False, True)


def test_sums_of_very_many_rows_are_not_shown(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "TOTAL_MAX", 2)
    till = Till(acme.merchant)
    till.topup(1_00)
    till.topup(2_00)
    few = read(owner, acme)
    till.topup(3_00)

    many = read(owner, acme)

    assert "2 movements" in few
    assert "More than 2 movements" in many


def test_what_means_nothing_is_refused_at_its_input(owner: Client, acme: ApiClient) -> None:
    for query in ({"type": "gift"}, {"created_from": "yesterday"}, {"sort": "net"},
                  {"starting_after": "txn_unknown"}):  # fmt: skip
        answer = owner.get(address("movements", acme.merchant.id), query)

        assert answer.status_code == 400, query


@pytest.mark.usefixtures("bank")
def test_a_page_of_movements_takes_few_statements(owner: Client, acme: ApiClient) -> None:
    payment = acme.pay(amount=100_00)["id"]
    acme.refund(payment, 1_00)
    rich(acme, 500_00)
    pay_out(acme, 5_00)
    Till(acme.merchant).settle(days=60)
    till = Till(acme.merchant)
    for _ in range(30):
        till.topup(1_00)
    rows = acme.get("/v1/balance_transactions?limit=20")["data"]
    url = address("movements", acme.merchant.id)
    owner.get(url)

    with CaptureQueriesContext(connection) as statements:
        owner.get(url, {"currency": "try", "starting_after": rows[-1]["id"]})

    asked = [one for one in statements if not one["sql"].startswith(CONTROL)]
    print(f"{len(asked)} statements")  # noqa: T201
    assert len(asked) <= 15
