"""The overview's charts: equal to their tables, and to the API's counts."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from core import clock
from merchants.models import Merchant
from panel.merchants import chart_figures, figures
from panel.merchants.chart_figures import Place
from panel.patience import TookTooLong
from panel.templatetags.panel import grouped
from payments.intents import counted_days
from payments.intents.models import CountedDay, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, PaymentFactory
from tests.stage.hooks import created, tell
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = {
    "brand": "visa", "bin": "424242", "last4": "4242", "masked": "424242******4242",
    "exp_month": 12, "exp_year": 2040, "card_type": "credit", "domestic": True,
    "program": "bonus", "issuer": "Garanti BBVA",
}  # fmt: skip
ERRORS = {
    "declined": {"code": "card_declined", "decline_code": "insufficient_funds"},
    "not_back": {"code": "authentication_abandoned"},
    "by_rules": {"code": "fraud_blocked", "decline_code": "fraudulent"},
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    for kept in (figures, chart_figures):
        kept.forget()
    yield
    for kept in (figures, chart_figures):
        kept.forget()


@pytest.fixture(params=["live", "kept"])
def are_kept(request: pytest.FixtureRequest) -> bool:
    """Days are counted when they are asked for, or kept by the job."""
    return bool(request.param == "kept")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is Tuesday, 12:00 in Istanbul."""
    now = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    return now


def paid(acme: ApiClient, at: datetime, minor: int = 10_000, **facts: Any) -> None:
    PaymentFactory(
        merchant=acme.merchant, created_at=at, amount=minor, authorized_minor=minor,
        captured_minor=minor, **{"card": CARD, **facts},
    )  # fmt: skip


def unpaid(
    acme: ApiClient, at: datetime, ending: str = "", status: str = "requires_payment_method"
) -> None:
    PaymentFactory(
        merchant=acme.merchant, created_at=at, status=status, authorized_minor=0,
        captured_minor=0, last_payment_error=ERRORS.get(ending), card=CARD if ending else None,
    )  # fmt: skip


def counted(acme: ApiClient) -> list[date]:
    """Let the job count the days that are over; return those that it has kept."""
    while counted_days.count_due():
        pass
    rows = CountedDay.objects.for_merchant(acme.merchant).order_by("day")
    return list(rows.values_list("day", flat=True))


def charts(client: Client, acme: ApiClient, **query: Any) -> Any:
    page = client.get(f"/panel/{acme.merchant.id}", query)
    assert page.status_code == 200
    return page.context["charts"]


def text(client: Client, acme: ApiClient, **query: Any) -> str:
    return unescape(client.get(f"/panel/{acme.merchant.id}", query).content.decode())


@pytest.mark.parametrize("days", chart_figures.PERIODS)
def test_a_period_stands_next_to_the_one_before(
    owner: Client, acme: ApiClient, noon: datetime, days: int, are_kept: bool
) -> None:
    paid(acme, noon - timedelta(hours=1), 30_000)
    paid(acme, noon - timedelta(days=days), 20_000)
    paid(acme, noon - timedelta(days=days) + timedelta(minutes=1), 777)  # After its noon.
    paid(acme, noon - timedelta(days=2 * days, hours=11, minutes=59), 999)  # Older than both.
    paid(acme, noon, 5_000, currency="eur")
    assert not are_kept or len(counted(acme)) == 2

    slots = charts(owner, acme, days=days, currency="try")["slots"]

    assert len(slots) == (24 if days == 1 else days)
    assert sum(slot.payments.charged for slot in slots) == 30_000
    assert sum(slot.before for slot in slots) == 20_000
    whole = charts(owner, acme, days=days, currency="try")["charged"]
    assert (whole.now.charged, whole.before.charged, whole.change) == (30_000, 20_000, 50)
    [highest] = [slot for slot in slots if slot.payments.charged]
    assert highest.height == 150
    assert charts(owner, acme, days=days, currency="eur")["total"] == 1


@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 8), 23), ((2026, 11, 1), 25)])
def test_today_has_the_hours_of_its_clocks(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch, day: tuple[int, int, int],
    hours: int,
) -> None:  # fmt: skip
    now = datetime(*day, 20, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    Merchant.objects.filter(id=acme.merchant.id).update(timezone="America/New_York")
    paid(acme, now)

    slots = charts(owner, acme, days=1)["slots"]

    assert len(slots) == hours
    [full] = [slot for slot in slots if slot.payments.number]
    assert full.label in ("16:00", "15:00")


def test_each_ending_is_counted_once_and_all_are_the_apis_count(
    owner: Client, acme: ApiClient, globex: ApiClient, noon: datetime
) -> None:
    paid(acme, noon)
    paid(acme, noon, status="requires_capture")
    for ending in ERRORS:
        unpaid(acme, noon, ending)
    unpaid(acme, noon, "declined", status="canceled")
    unpaid(acme, noon)
    unpaid(acme, noon, status="requires_action")
    paid(globex, noon)

    found = charts(owner, acme)

    assert {one.name: one.number for one in found["endings"]} == {
        "charged": 2, "declined": 2, "not_back": 1, "by_rules": 1, "no_card": 1, "under_way": 1,
    }  # fmt: skip
    assert found["total"] == PaymentIntent.objects.for_merchant(acme.merchant).count() == 8
    for name in chart_figures.BY:
        groups = found["figures"].groups[name].values()
        assert sum(one.number for one in groups) == found["total"], name
        assert sum(one.charged for one in groups) == 20_000, name
    assert [(bar.code, bar.number) for bar in found["reasons"]] == [("insufficient_funds", 2)]
    assert found["figures"].slots[Place(date(2026, 11, 24))].success == 33.3


def test_charts_of_real_payments_are_the_apis_counts(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    charged = sum(acme.pay(amount=amount)["amount"] for amount in (10_000, 2_500))
    acme.pay(DECLINED_CARD)

    found = charts(owner, acme, days=1)

    numbers = {one.name: one.number for one in found["endings"]}
    for name, query in (("charged", "status[]=succeeded"),
                        ("declined", "status[]=requires_payment_method")):  # fmt: skip
        listed = acme.get(f"/v1/payment_intents?include[]=total_count&{query}")
        assert numbers[name] == listed["total_count"], name
    assert sum(slot.payments.charged for slot in found["slots"]) == charged


def test_bars_and_rows_lead_to_the_same_list(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    paid(acme, noon)
    paid(acme, noon - timedelta(days=3))

    page = text(owner, acme)

    for slot in charts(owner, acme)["slots"]:
        least = 2 if slot.payments.charged else 1  # Nothing charged has a row, and no bar.
        assert page.count(f'href="{slot.url}"') >= least, slot.label
    [last] = [slot for slot in charts(owner, acme)["slots"] if slot.label.startswith("Tue")]
    listed = owner.get(last.url, follow=True)
    assert listed.status_code == 200
    assert listed.content.decode().count("₺100.00") >= 1
    for one in charts(owner, acme)["endings"]:
        assert owner.get(one.url, follow=True).status_code == 200


@pytest.mark.parametrize("days", [1, 30])
def test_each_programme_and_issuer_leads_to_a_list_of_as_many(
    owner: Client, acme: ApiClient, globex: ApiClient, noon: datetime, days: int, are_kept: bool
) -> None:
    names = [("bonus", "Garanti BBVA"), ("world", "Çok & Ortaklı Bank"), ("maximum", "100%+1=2")]
    for number, (program, issuer) in enumerate(names, 1):
        card = {**CARD, "program": program, "issuer": issuer}
        for back in range(number):
            paid(acme, noon - timedelta(days=back), card=card)
        paid(acme, noon, card=card, currency="eur")
        paid(acme, noon - timedelta(days=days), card=card)
        paid(globex, noon, card=card)
    waiting = {"status": "requires_confirmation", "authorized_minor": 0, "captured_minor": 0}
    PaymentFactory(merchant=acme.merchant, created_at=noon, card=CARD, **waiting)
    unpaid(acme, noon)
    if are_kept:
        counted(acme)

    found = charts(owner, acme, days=days, currency="try")["groups"]
    page = text(owner, acme, days=days, currency="try")
    groups = {group.name: group for group in found}

    compared = 0
    for name, values in zip(("program", "issuer"), zip(*names, strict=True), strict=True):
        rows = groups[name].rows
        assert {value for value, url, _count in rows if url} == {*values}
        for value, url, count in rows:
            if not url:
                assert (value, count.number) == ("None, or unknown", 1)
                continue
            bars = 2 if count.success is not None else 1  # The row, and its bar.
            assert page.count(f'href="{unescape(url)}"') == bars, value
            assert listed(owner, acme, url) == count.number, (name, value)
            compared += 1
    assert compared == 6


@pytest.mark.parametrize("days", [1, 30])
def test_installments_domestic_and_foreign_cards_lead_to_lists_of_as_many(
    owner: Client, acme: ApiClient, globex: ApiClient, noon: datetime, days: int, are_kept: bool
) -> None:
    for number, (installments, domestic) in enumerate([(1, True), (3, False), (12, False)], 1):
        card = {**CARD, "domestic": domestic}
        for back in range(number):
            at = noon - timedelta(days=back)
            paid(acme, at, card=card, installments=installments)
        paid(acme, noon, card=card, installments=installments, currency="eur")
        paid(acme, noon - timedelta(days=days), card=card, installments=installments)
        paid(globex, noon, card=card, installments=installments)
    unpaid(acme, noon)
    if are_kept:
        counted(acme)

    found = charts(owner, acme, days=days, currency="try")["groups"]

    groups = {group.name: group for group in found}
    for name, values in (("installments", {"1", "3", "12"}), ("domestic", {"Domestic", "Foreign"})):
        rows = groups[name].rows
        assert {str(value) for value, url, _count in rows if url} == values
        for value, url, count in rows:
            if url:
                assert listed(owner, acme, url) == count.number, (name, value)
            else:
                assert (name, str(value)) == ("domestic", "None, or unknown")


def listed(owner: Client, acme: ApiClient, url: str) -> int:
    """Return how many payments a list of the panel has, counted by the API's list too."""
    shown = owner.get(url, follow=True)
    assert shown.status_code == 200
    [(address, _status)] = shown.redirect_chain
    query = address.partition("?")[2]
    number = acme.get(f"/v1/payment_intents?include[]=total_count&{query}")["total_count"]
    assert shown.content.decode().count('class="amt-cell"') == number
    return int(number)


def test_the_pictures_have_no_style_and_no_script(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    paid(acme, noon)
    unpaid(acme, noon, "declined")

    pictures = re.findall(r"<svg.*?</svg>", text(owner, acme), re.S)

    assert len(pictures) > 5
    for picture in pictures:
        assert not re.search(r"style=|<style|<script|\son\w+=", picture)
        for number in re.findall(r'\s(?:x|y|width|height|cx|cy)="([^"]*)"', picture):
            assert re.fullmatch(r"[0-9.]+", number), picture


def test_numbers_in_pictures_are_no_turkish_ones(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    paid(acme, noon)
    owner.cookies["language"] = "tr"

    page = owner.get(f"/panel/{acme.merchant.id}", {"days": 30}, headers={"Accept-Language": "tr"})

    assert not re.search(r'(?:x|y|width|height)="\d+,\d', page.content.decode())


@pytest.mark.parametrize("query", [{"days": "2"}, {"days": "x" * 300}, {"currency": "zzz"}])
def test_what_is_no_choice_is_the_usual_one(
    owner: Client, acme: ApiClient, query: dict[str, str]
) -> None:
    found = charts(owner, acme, **query)

    assert (found["figures"].days, found["currency"]) == (7, "try")


def test_webhooks_stand_by_hour_for_those_who_see_endpoints(acme: ApiClient) -> None:
    created(acme)
    tell(acme.merchant, "cus_1")
    people = {role: signed_in(person(f"{role}@acme.example", (acme.merchant, role)))
              for role in ("developer", "finance")}  # fmt: skip

    [hours] = charts(people["developer"], acme)["hours"]

    assert len(hours.bars) == 24
    assert hours.tried == sum(hour.tried for *_place, hour in hours.bars)
    assert charts(people["finance"], acme)["hours"] == []


def test_charts_that_take_too_long_are_left_out(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_terms: Any) -> None:
        raise TookTooLong

    paid(acme, clock.now())
    monkeypatch.setattr("panel.merchants.chart_figures.read", slow)

    assert "The charts took too long" in text(owner, acme)


def test_many_payments_cost_no_more_statements(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    def asked() -> int:
        fresh_figures()
        with CaptureQueriesContext(connection) as made:
            charts(owner, acme, days=90)
        return len(made)

    def fresh_figures() -> None:
        figures.forget()
        chart_figures.forget()

    asked()
    few = asked()
    for days in range(20):
        paid(acme, noon - timedelta(days=days), card={**CARD, "program": f"p{days}"})

    assert asked() == few


@pytest.mark.parametrize(("language", "written"), [("en", "1,241"), ("tr", "1.241")])
def test_a_count_has_its_thousands_parted(language: str, written: str) -> None:
    with override(language):
        assert grouped(1241) == written
