"""A merchant at one look: its week beside the one before, balance, open work, access, changes."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock
from merchants.models import AuditEntry, Merchant, PayoutSchedule
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.complaints import dispute_past_the_bank
from tests.stage.desk import Desk
from tests.stage.factories import DECLINED_CARD, MerchantFactory
from tests.stage.hooks import created
from tests.stage.undecided import a_case_of

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

QUERIES_MAX = 20
TABS = ("desk_merchant", "desk_merchant_terms", "desk_merchant_access")


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    begin_at_noon()
    return acme


def look(desk: Desk, merchant: Merchant) -> Any:
    return desk.get("desk_merchant", merchant.id).context["look"]


def figures(desk: Desk, shop: ApiClient) -> dict[str, tuple[str, str, int | None]]:
    [one] = look(desk, shop.merchant).currencies
    return {figure.label: (figure.now, figure.before, figure.number) for figure in one.figures}


def test_the_week_stands_beside_the_week_before(desk: Desk, shop: ApiClient) -> None:
    shop.pay(amount=50_000)
    clock.advance(timedelta(days=7, hours=1))
    shop.pay(amount=20_000)
    shop.pay(DECLINED_CARD)
    shop.refund(shop.pay(amount=10_000)["id"], 4_000)
    dispute_past_the_bank(shop.pay(amount=30_000)["id"])

    found = figures(desk, shop)

    assert found["Charged"] == ("₺600.00", "₺500.00", 3)
    assert found["Success"] == ("75.0 %", "100.0 %", None)
    assert found["Refunds"] == ("₺40.00", "₺0.00", 1)
    assert found["Disputes"][1:] == ("₺0.00", 1)
    [one] = look(desk, shop.merchant).currencies
    assert [figure.change for figure in one.figures][0] == 20


def test_what_is_older_than_a_week_and_an_hour_less_is_not_compared(
    desk: Desk, shop: ApiClient
) -> None:
    clock.advance(timedelta(hours=2))
    shop.pay(amount=50_000)
    clock.advance(timedelta(days=7) - timedelta(hours=1))

    assert figures(desk, shop).get("Charged", ("", "₺0.00"))[1] == "₺0.00"


def test_work_access_and_changes_stand_below(desk: Desk, shop: ApiClient) -> None:
    case = a_case_of(shop.pay()["id"])
    created(shop)

    answer = desk.get("desk_merchant", shop.merchant.id)

    assert [row.item.subject for row in answer.context["rows"]] == [case.id]
    access = answer.context["look"].access
    assert (access.enabled, access.failing, access.disabled) == (1, 0, 0)
    assert (access.keys, access.people) == (1, shop.merchant.members.count())
    newest = AuditEntry.objects.filter(merchant=shop.merchant).order_by("-sequence")
    assert answer.context["look"].changes[0] == newest[0]
    assert "endpoint.created" in unescape(answer.content.decode())


def test_the_next_payout_is_the_schedules(desk: Desk, shop: ApiClient) -> None:
    PayoutSchedule.objects.update_or_create(
        merchant=shop.merchant, defaults={"interval": "weekly", "weekly_anchor": "tuesday"}
    )

    day = look(desk, shop.merchant).next_payout

    assert day is not None
    assert day.weekday() >= 1
    PayoutSchedule.objects.update(interval="manual", weekly_anchor=None)
    assert look(desk, shop.merchant).next_payout is None


def test_the_limit_shows_how_much_of_it_is_used(desk: Desk, shop: ApiClient) -> None:
    shop.merchant.non_secure_limits.update(per_day=900_000)
    shop.pay(amount=50_000)

    [one] = look(desk, shop.merchant).currencies

    assert one.limit_used == "₺500.00 of ₺9,000.00"


def test_a_merchant_without_anything_has_a_page(desk: Desk) -> None:
    merchant = MerchantFactory()

    for tab in TABS:
        assert desk.get(tab, merchant.id).status_code == 200
        assert desk.get(tab, "mer_unknown").status_code == 404


def test_another_merchants_rows_do_not_count(
    desk: Desk, shop: ApiClient, globex: ApiClient
) -> None:
    a_case_of(globex.pay()["id"])

    assert figures(desk, shop)["Charged"][0] == "₺0.00"
    assert desk.get("desk_merchant", shop.merchant.id).context["rows"] == []


def test_the_page_costs_few_statements(shop: ApiClient) -> None:
    desk = Desk(
        "few@example.com", "merchants.view_merchant", "cases.view_case", "payouts.view_payout",
        "intents.view_paymentintent", "acquirers.view_terminal", "merchants.view_auditentry",
        "reconciliation.view_difference", "topups.view_incomingtransfer", "daily.view_dailyrun",
    )  # fmt: skip
    a_case_of(shop.pay()["id"])

    with CaptureQueriesContext(connection) as made:
        desk.get("desk_merchant", shop.merchant.id)

    asked = [one["sql"] for one in made if one["sql"].startswith(("SELECT", "\nSELECT", "WITH"))]
    assert len(asked) <= QUERIES_MAX, "\n".join(asked)
