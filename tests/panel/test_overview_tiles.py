"""The overview's tiles: equal to the lists that they lead to, and to the API's counts."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import clock, ids
from panel.merchants import chart_figures, figures, money_back
from panel.patience import TookTooLong
from payments.disputes.models import Dispute
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory, PaymentFactory
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TILE = re.compile(
    r'<dt>([^<]+)</dt><dd><strong><a href="([^"]*)" aria-label="([^"]*)">([^<]*)</a></strong>'
    r'<span>(?:<b class="(\w+)" aria-hidden="true">[▲▼]</b> )?([^<]*)</span>'
)
NOTHING = {"authorized_minor": 0, "captured_minor": 0}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    for kept in (figures, chart_figures, money_back):
        kept.forget()


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is Tuesday, 12:00 in Istanbul."""
    now = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    return now


def paid(shop: ApiClient, at: datetime, minor: int = 10_000, **facts: Any) -> PaymentIntent:
    sums = dict.fromkeys(("amount", "authorized_minor", "captured_minor"), minor)
    found: PaymentIntent = PaymentFactory(
        merchant=shop.merchant, created_at=at, **{**sums, **facts}
    )
    return found


def given_back(payment: PaymentIntent, at: datetime, minor: int, status: str = "succeeded") -> None:
    is_over = status != "pending"
    Refund.objects.create(
        **_of(payment), id=ids.new("re"), acquirer_reference=ids.new("re"), amount=minor,
        status=status, method="refund", created_at=at, asked_at=at,
        sent_at=at if status in ("succeeded", "failed") else None,
        closed_at=at if is_over else None, due_at=None if is_over else at,
        pending_reason=None if is_over else "insufficient_funds",
        failure_reason="declined" if status == "failed" else None,
    )  # fmt: skip


def disputed(payment: PaymentIntent, at: datetime, status: str = "needs_response") -> None:
    is_over = status in ("won", "lost", "warning_closed")
    Dispute.objects.create(
        **_of(payment), id=ids.new("dp"), bank_reference=ids.new("dp"), amount=100, status=status,
        reason="fraudulent", created_at=at, evidence_due_by=at + timedelta(days=9),
        closed_at=at if is_over else None,
    )  # fmt: skip


def _of(payment: PaymentIntent) -> dict[str, Any]:
    attempt = payment.attempts.first() or AttemptFactory(
        intent=payment, status="succeeded", amount=payment.amount, currency=payment.currency,
        captured_minor=payment.captured_minor, captured_at=payment.created_at,
        closed_at=payment.created_at, due_at=None,
    )  # fmt: skip
    return {
        "merchant": payment.merchant, "intent": payment, "attempt": attempt,
        "currency": payment.currency,
    }  # fmt: skip


def tiles(client: Client, acme: ApiClient, **query: Any) -> dict[str, tuple[str, str, str, str]]:
    """Return each tile's value, the line below, the colour of its sign, and its address."""
    forget()
    page = client.get(f"/panel/{acme.merchant.id}", query)
    assert page.status_code == 200
    found = TILE.findall(page.content.decode())
    for label, _url, spoken, value, *_rest in found:
        assert spoken == f"{label}: {value}"
    return {label: (value, about, colour, unescape(url))
            for label, url, _spoken, value, colour, about in found}  # fmt: skip


def listed(client: Client, acme: ApiClient, url: str, resource: str) -> int:
    """Return how many rows a list of the panel has, which are as many as the API counts."""
    shown = client.get(url, follow=True)
    assert shown.status_code == 200
    query = shown.redirect_chain[-1][0].partition("?")[2]
    number = acme.get(f"/v1/{resource}?include[]=total_count&{query}")["total_count"]
    assert shown.content.decode().count('class="amt-cell"') == number
    return int(number)


@pytest.mark.parametrize("days", [1, 7])
def test_each_tile_is_the_apis_count_of_the_list_that_it_leads_to(
    owner: Client, acme: ApiClient, globex: ApiClient, noon: datetime, days: int
) -> None:
    for shop in (acme, globex):
        first, *_more = [paid(shop, noon, 10_000), paid(shop, noon, 30_001)]
        paid(shop, noon, 0, status="requires_capture", amount=500)
        PaymentFactory(
            merchant=shop.merchant, created_at=noon, status="requires_payment_method", **NOTHING
        )
        old = paid(shop, noon - timedelta(days=days), 20_000)
        for status in ("succeeded", "pending", "failed", "canceled"):
            given_back(first, noon, 500, status)
            given_back(old, noon - timedelta(days=days), 700, status)
        for status in ("needs_response", "won", "lost", "warning_needs_response"):
            disputed(first, noon, status)
            disputed(old, noon - timedelta(days=days), status)

    found = tiles(owner, acme, days=days)

    assert {label: row[:2] for label, row in found.items()} == {
        "Charged in TRY": ("₺400.01", "+100 % on ₺200.00 before"),
        "Charged payments": ("3", "₺133.34 on average"),
        "Success": ("100.0 %", "0.0 points on 100.0 % before"),
        "Given back": ("2.4 %", "₺10.00 in 2 refunds"),
        "Disputed payments": ("100.00 %", "3 of 3"),
    }
    for label, resource, number in (
        ("Charged in TRY", "payment_intents", 3), ("Charged payments", "payment_intents", 3),
        ("Success", "payment_intents", 4), ("Given back", "refunds", 2),
        ("Disputed payments", "disputes", 3),
    ):  # fmt: skip
        assert listed(owner, acme, found[label][3], resource) == number, label


def test_a_tile_of_money_back_says_what_its_list_has_in_other_currencies(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    lira, euro = paid(acme, noon), paid(acme, noon, currency="eur")
    for payment in (lira, euro, euro):
        given_back(payment, noon, 100)
    disputed(euro, noon)

    found = tiles(owner, acme, currency="try")

    assert found["Given back"][:2] == ("1.0 %", "₺1.00 in 1 refund; 2 more in other currencies")
    assert found["Disputed payments"][:2] == ("0.00 %", "0 of 1; 1 more in other currencies")
    assert listed(owner, acme, found["Given back"][3], "refunds") == 3
    assert listed(owner, acme, found["Disputed payments"][3], "disputes") == 1


def test_a_period_without_payments_has_no_shares_of_them(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    long_ago = paid(acme, noon - timedelta(days=60), 999_999_999_999)
    empty = tiles(owner, acme)
    given_back(long_ago, noon, 999_999_999_999)
    disputed(long_ago, noon)
    only_back = tiles(owner, acme)

    # Its steps are not done, and nothing has happened: no charts.
    assert empty == {}
    assert {label: row[:2] for label, row in only_back.items()} == {
        "Charged in TRY": ("₺0.00", "nothing in as many days before"),
        "Charged payments": ("0", "no payment was charged"),
        "Success": ("–", "nothing in as many days before"),
        "Given back": ("–", "₺9,999,999,999.99 in 1 refund"),
        "Disputed payments": ("–", "1 dispute"),
    }


def test_more_may_go_back_than_was_charged_and_less_be_charged_than_before(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    paid(acme, noon, 1_000)
    PaymentFactory(
        merchant=acme.merchant, created_at=noon, status="requires_payment_method",
        last_payment_error={"code": "card_declined", "decline_code": "expired_card"}, **NOTHING,
    )  # fmt: skip
    given_back(paid(acme, noon - timedelta(days=7), 4_000), noon, 2_500)

    found = tiles(owner, acme)

    assert found["Given back"][:2] == ("250.0 %", "₺25.00 in 1 refund")
    assert found["Charged in TRY"][:3] == ("₺10.00", "−75 % on ₺40.00 before", "bad")
    assert found["Success"][:3] == ("50.0 %", "−50.0 points on 100.0 % before", "bad")


def test_refunds_that_take_too_long_are_left_out_and_the_charts_come(
    owner: Client, acme: ApiClient, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_terms: Any) -> None:
        raise TookTooLong

    paid(acme, noon)
    monkeypatch.setattr(money_back, "read", slow)

    assert [*tiles(owner, acme)] == ["Charged in TRY", "Charged payments", "Success"]


def test_tiles_cost_one_statement_more_whatever_went_back(
    owner: Client, acme: ApiClient, noon: datetime
) -> None:
    def asked() -> list[str]:
        forget()
        with CaptureQueriesContext(connection) as made:
            owner.get(f"/panel/{acme.merchant.id}")
        return [one["sql"] for one in made]

    payment = paid(acme, noon)
    asked()
    few = asked()
    for _ in range(20):
        given_back(payment, noon, 10)
        disputed(payment, noon)
    much = asked()

    assert len(few) == len(much)
    assert sum("refunds_refund" in one and "disputes_dispute" in one and "sum(amount)" in one
               for one in much) == 1  # fmt: skip
