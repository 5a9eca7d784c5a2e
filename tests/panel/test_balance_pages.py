"""The balance in the panel: sums, dates, words for below zero, schedule, payouts, settlements."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from core import clock, local_days
from ledger import day_sums
from ledger.models import Movement
from merchants import payout_schedules
from panel import statuses
from panel.merchants import balance_lines, balance_words
from panel.merchants.balance_words import TYPES
from panel.patience import TookTooLong
from payouts import states as payout_states
from payouts.models import Payout
from payouts.topups import states as topup_states
from payouts.topups.models import Topup
from tests.stage.acts import owe
from tests.stage.book_keeping import Till, limit
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address, addresses
from tests.stage.sweeper import sweep_after
from tests.stage.teams import person, signed_in
from tests.stage.transfers import DELAY, hear_after, pay_out, rich

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Of the table next to a line: the address of a day's movements, and the balance when it ended.
ENDED = re.compile(
    r'<th scope="row"><a href="([^"]+)">[^<]+</a>[^<]*</th><td class="right">'
    r'<span class="amt">([^<]+)</span>'
)
PAGES_TO_SEE = ("balance", "movements", "settlement", "payouts", "payout", "topups", "topup")
PAGES_TO_DO = ("create_payout", "cancel_payout", "create_topup", "cancel_topup")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def read(client: Client, acme: ApiClient, name: str = "balance", thing: Any = "") -> str:
    page = client.get(address(name, acme.merchant.id, thing))
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def test_a_merchant_without_money_sees_zero_and_what_comes(owner: Client, acme: ApiClient) -> None:
    page = read(owner, acme)

    assert page.count("₺0.00") == 3
    for words in ("By hand: you ask for each payout", "1 business day after its capture",
                  "come whole", "To change it, ask us", "No payout is on its way",
                  "No settlement yet"):  # fmt: skip
        assert words in page, words
    assert "Below zero" not in page
    assert "When pending becomes available" not in page


def test_the_sums_are_those_of_the_api_and_pending_has_its_dates(
    owner: Client, acme: ApiClient
) -> None:
    Till(acme.merchant).charge(100_00, parts=3)
    rich(acme, 777_00)
    rich(acme, 5, "usd")

    page = read(owner, acme)

    answer = acme.get("/v1/balance")
    assert [row["amount"] for row in answer["available"]] == [777_00, 5]
    assert [row["amount"] for row in answer["pending"]] == [100_00, 0]
    for words in ("₺777.00", "₺100.00", "$0.05", "3 Nov 2026", "₺33.34", "3 Dec 2026", "₺33.33"):
        assert words in page, words
    assert page.count("When pending becomes available") == 1


def test_a_line_of_30_days_leads_from_each_day_to_its_movements(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    Till(acme.merchant, "eur")
    zone, today = acme.merchant.timezone, local_days.of(clock.now(), acme.merchant.timezone)
    midnight = local_days.begins(today - timedelta(days=7), zone)
    for amount, after in ((40_00, -1), (300_00, 0), (2_00, 60)):
        with monkeypatch.context() as at:
            at.setattr(clock, "now", lambda after=after: midnight + timedelta(seconds=after))
            Till(acme.merchant).topup(amount)

    page = read(owner, acme)

    day = (today - timedelta(days=8)).isoformat()
    way = f"currency=try&amp;created_from={day}&amp;created_to={day}"
    sums = [money for address, money in ENDED.findall(page) if address.endswith(way)]
    assert sums == ["₺40.00"]
    assert [money for _way, money in ENDED.findall(page)] == (
        ["₺342.00"] * 8 + ["₺40.00"] + ["₺0.00"] * 21
    )
    assert page.count("The 30 days as a table") == 1
    assert page.count("<title>") == 32


def test_a_line_that_takes_long_is_left_out(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich(acme, 777_00)

    def late(*_: object) -> None:
        raise TookTooLong

    assert "The 30 days as a table" in read(owner, acme)
    monkeypatch.setattr(day_sums, "balances_at", late)
    assert "The 30 days as a table" in read(owner, acme), "of the minute before"
    balance_lines.forget()

    page = read(owner, acme)

    assert "₺777.00" in page
    assert "The 30 days as a table" not in page


def test_below_zero_is_told_in_words(owner: Client, acme: ApiClient, globex: ApiClient) -> None:
    theirs = signed_in(person("bo@globex.example", (globex.merchant, "owner")))
    limit(acme.merchant, 50_00)
    for client, amount in ((acme, 30_00), (globex, 70_00)):
        owe(Till(client.merchant), amount)

    allowed, beyond = read(owner, acme), read(theirs, globex)

    for words in ("-₺30.00", "Below zero", "₺30.00 more went back", "may go ₺50.00 below zero"):
        assert words in allowed, words
    assert "Refunds wait" not in allowed
    for words in ("-₺70.00", "₺70.00 more went back", "Refunds wait until there is enough again"):
        assert words in beyond, words
    assert "It may go" not in beyond


def test_refunds_do_not_wait_while_pending_covers_them(owner: Client, acme: ApiClient) -> None:
    till = Till(acme.merchant)
    owe(till, 30_00)
    till.charge(31_00)

    assert "Refunds wait" not in read(owner, acme)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (
            {"interval": "daily", "delay_days": 0},
            ("Each business day", "on the day of its", "default account"),
        ),
        ({"interval": "weekly", "weekly_anchor": "friday"}, ("Each Friday",)),
        ({"interval": "monthly", "monthly_anchor": 31}, ("On day 31 of each month",)),
        ({"delay_days": 3, "installments": "monthly"}, ("3 business days", "a part each month")),
        ({"minimum_amount": 100_00}, ("Less than this is not paid out", "₺100.00")),
    ],
)
def test_the_schedule_is_told_in_words(
    owner: Client, acme: ApiClient, terms: dict[str, Any], words: tuple[str, ...]
) -> None:
    payout_schedules.change(acme.merchant, terms)

    page = read(owner, acme)

    for text in words:
        assert text in page, text


@pytest.mark.usefixtures("bank")
def test_payouts_stand_by_their_day_of_arrival(owner: Client, acme: ApiClient) -> None:
    rich(acme)
    paid, canceled = pay_out(acme, 1111)["id"], pay_out(acme, 2222)["id"]
    acme.post(f"/v1/payouts/{canceled}/cancel")
    sweep_after(DELAY)
    hear_after(5)
    coming = pay_out(acme, 3333)["id"]

    page = read(owner, acme)

    assert page.index(coming) < page.index(paid)
    assert canceled not in page
    assert "Paid out" in page


def test_settlements_stand_newest_first_and_say_what_they_moved(
    owner: Client, acme: ApiClient
) -> None:
    till = Till(acme.merchant)
    charge = till.charge(100_00)
    till.charge(50_00)
    till.refund(charge, 20_00)
    first = till.settle()
    till.charge(7_00)
    second = till.settle()
    assert first
    assert second

    page = read(owner, acme)
    run = read(owner, acme, "settlement", first.id)

    assert page.index(second.id) < page.index(first.id)
    assert "₺130.00" in page
    assert "₺7.00" in page
    for words in ("₺130.00", "₺150.00", "Charge", "2 ×", "-₺20.00", "Refund", "1 ×"):
        assert words in run, words
    assert "₺7.00" not in run


def test_roles_see_or_do_as_the_table_says(acme: ApiClient) -> None:
    for role, sees, does in (
        ("owner", 200, 200), ("finance", 200, 200), ("developer", 200, 403),
        ("accountant", 200, 403), ("support", 403, 403),
    ):  # fmt: skip
        client = signed_in(person(f"{role}@team.example", (acme.merchant, role)))
        urls = addresses(acme.merchant)
        assert {client.get(urls[name]).status_code for name in PAGES_TO_SEE} == {sees}, role
        assert {client.get(urls[name]).status_code for name in PAGES_TO_DO} == {does}, role
        # Without its token a form does nothing.
        sent = {client.post(urls[name]).status_code for name in PAGES_TO_DO}
        assert sent == ({400} if does == 200 else {403}), role
        overview = client.get(f"/panel/{acme.merchant.id}").content.decode()
        assert (f'/panel/{acme.merchant.id}/balance"' in overview) == (sees == 200)
        if sees == 200:
            assert ("/payouts/create" in read(client, acme)) == (does == 200)
    assert Payout.objects.get().status == Topup.objects.exclude(source="").get().status == "pending"


def test_another_merchants_things_are_unknown(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    theirs = addresses(globex.merchant)
    for name in (*PAGES_TO_SEE, *PAGES_TO_DO):
        thing = theirs[name].replace(globex.merchant.id, acme.merchant.id)
        if name in ("payout", "cancel_payout", "topup", "cancel_topup", "settlement"):
            assert owner.get(thing).status_code == 404, name
        assert owner.get(theirs[name]).status_code == 404, name
    for name in ("cancel_payout", "cancel_topup"):
        thing = theirs[name].replace(globex.merchant.id, acme.merchant.id)
        assert owner.post(thing, {"token": "x"}).status_code == 404
    assert Payout.objects.get().status == "pending"


def test_each_status_and_type_has_its_words() -> None:
    assert set(balance_words.PAYOUTS) == set(payout_states.PayoutStatus.values)
    assert set(balance_words.FAILURES) == set(payout_states.FailureCode.values)
    assert set(balance_words.TOPUPS) == set(topup_states.TopupStatus.values)
    assert set(balance_words.TOPUP_FAILURES) == set(topup_states.FailureCode.values)
    assert set(TYPES) == set(Movement.Type.values)
    for value in (*payout_states.PayoutStatus.values, *topup_states.TopupStatus.values):
        assert value in statuses.BADGES


def test_ids_of_money_lead_to_their_pages(acme: ApiClient) -> None:
    urls = addresses(acme.merchant)
    for role, finds in (("finance", True), ("support", False)):
        client = signed_in(person(f"{role}@team.example", (acme.merchant, role)))
        for name in ("payout", "topup", "settlement"):
            thing = urls[name].rpartition("/")[2]
            answer = client.get(address("search", acme.merchant.id), {"q": thing})
            assert (answer.headers.get("Location") == urls[name]) == finds, name
            assert finds or "Nothing was found" in answer.content.decode()
