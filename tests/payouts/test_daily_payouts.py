"""The look that beat begins: payouts by schedule, once a day, after the day's run."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.db import OperationalError

from core import clock
from ledger.models import Price
from ledger.tasks import settle_due
from merchants import accounts
from merchants.models import RequestLog
from payouts import schedule
from payouts.models import Payout, ScheduleLook
from payouts.tasks import pay_out_daily
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import Till
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory
from tests.stage.threads import together
from tests.stage.transfers import balance, enrich, rich

# In real transactions: settlement waits for what is not committed.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

# A Monday, on which tills charge, and no holiday in that week.
MONDAY = date(2026, 11, 2)
TUESDAY, THURSDAY, SATURDAY = date(2026, 11, 3), date(2026, 11, 5), date(2026, 11, 7)
NEXT_MONDAY, NEXT_TUESDAY = date(2026, 11, 9), date(2026, 11, 10)
WEEKLY = {"interval": "weekly", "weekly_anchor": "tuesday"}
GoTo = Callable[[date], None]


@pytest.fixture(autouse=True)
def go_to(monkeypatch: pytest.MonkeyPatch) -> GoTo:
    """Set the clock to the noon of a day in UTC; it begins on the Monday."""

    def go(day: date) -> None:
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        monkeypatch.setattr(clock, "moved", lambda _real: noon)

    go(MONDAY)
    return go


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    """A merchant who is paid out daily, and has 10000 of yesterday's."""
    accounts.change(acme.merchant, {"payout_schedule": {"interval": "daily"}})
    return rich(acme, 10_000)


def made() -> list[tuple[date, int]]:
    rows = Payout.objects.order_by("scheduled_on", "currency")
    return list(rows.values_list("scheduled_on", "amount"))


def test_what_is_available_is_paid_out_once_each_day(shop: ApiClient, go_to: GoTo) -> None:
    pay_out_daily()
    rich(shop, 300)
    pay_out_daily()
    assert (made(), balance(shop)) == ([(MONDAY, 10_000)], 300)

    go_to(TUESDAY)
    pay_out_daily()

    assert made() == [(MONDAY, 10_000), (TUESDAY, 300)]
    [first, _second] = shop.get("/v1/payouts?sort=created")["data"]
    [event] = shop.events_of(first["id"])
    log = RequestLog.objects.get(id=event["request_id"])
    assert (first["automatic"], log.kind, log.path) == (True, "job", "payouts.tasks.pay_out_daily")


def test_it_follows_the_days_run(shop: ApiClient, go_to: GoTo) -> None:
    pay_out_daily()
    Till(shop.merchant).charge(5000)
    settle_due()  # It notes that something is due tomorrow.
    go_to(TUESDAY)

    pay_out_daily()
    assert made() == [(MONDAY, 10_000)]

    settle_due()
    pay_out_daily()
    assert made() == [(MONDAY, 10_000), (TUESDAY, 5000)]


def test_it_follows_the_run_of_what_no_look_of_settlement_has_noted(
    shop: ApiClient, go_to: GoTo
) -> None:
    pay_out_daily()
    Till(shop.merchant).charge(5000)
    go_to(TUESDAY)  # No worker was there meanwhile, or the sandbox's clock was moved at once.

    pay_out_daily()
    assert made() == [(MONDAY, 10_000)]

    settle_due()
    pay_out_daily()
    assert made() == [(MONDAY, 10_000), (TUESDAY, 5000)]


def test_each_currency_has_a_payout_of_its_own(shop: ApiClient) -> None:
    rich(shop, 700, "eur")

    pay_out_daily()

    assert made() == [(MONDAY, 700), (MONDAY, 10_000)]


def test_what_waiting_refunds_need_stays(acme: ApiClient, bank: BankTransport, go_to: GoTo) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=10_000)
    paid = acme.pay(amount=20_000)["id"]
    go_to(TUESDAY)
    accounts.change(acme.merchant, {"payout_schedule": {"interval": "daily"}})
    rich(acme, 10_000)
    waiting = acme.refund(paid, 10_001)
    assert waiting["pending_reason"] == "insufficient_funds"

    pay_out_daily()
    assert (made(), balance(acme)) == ([], 10_000)

    rich(acme, 500)
    go_to(date(2026, 11, 4))
    pay_out_daily()
    assert [amount for _day, amount in made()] == [499]


def test_merchants_without_a_schedule_are_paid_by_hand(shop: ApiClient) -> None:
    accounts.change(shop.merchant, {"payout_schedule": {"interval": "manual"}})

    pay_out_daily()

    assert (made(), ScheduleLook.objects.count()) == ([], 0)


def test_a_day_that_was_skipped_is_caught_up_with_by_one_payout(
    shop: ApiClient, go_to: GoTo
) -> None:
    accounts.change(shop.merchant, {"payout_schedule": WEEKLY})
    pay_out_daily()
    assert made() == []
    go_to(THURSDAY)

    pay_out_daily()
    rich(shop, 300)
    pay_out_daily()
    go_to(NEXT_MONDAY)
    pay_out_daily()
    assert made() == [(THURSDAY, 10_000)]

    go_to(NEXT_TUESDAY)
    pay_out_daily()
    assert made() == [(THURSDAY, 10_000), (NEXT_TUESDAY, 300)]


def test_what_was_skipped_waits_for_a_business_day(shop: ApiClient, go_to: GoTo) -> None:
    accounts.change(shop.merchant, {"payout_schedule": WEEKLY})
    pay_out_daily()
    go_to(SATURDAY)
    pay_out_daily()
    assert made() == []

    go_to(NEXT_MONDAY)
    pay_out_daily()

    assert made() == [(NEXT_MONDAY, 10_000)]


def test_a_day_is_the_merchants_own(shop: ApiClient, go_to: GoTo) -> None:
    pay_out_daily()
    accounts.change(shop.merchant, {"timezone": "Pacific/Kiritimati"})
    rich(shop, 300)

    pay_out_daily()

    assert made() == [(MONDAY, 10_000), (TUESDAY, 300)]


def test_an_error_about_one_merchant_stops_no_other(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MerchantFactory()
    accounts.change(other, {"payout_schedule": {"interval": "daily"}})
    enrich(other, 700)
    real = schedule.pay_out

    def broken_for_the_first(merchant: Any, *arguments: Any) -> Any:
        if merchant.id == min(shop.merchant.id, other.id):
            raise OperationalError
        return real(merchant, *arguments)

    monkeypatch.setattr(schedule, "pay_out", broken_for_the_first)
    pay_out_daily()
    assert len(made()) == 1

    monkeypatch.setattr(schedule, "pay_out", real)
    pay_out_daily()
    assert sorted(amount for _day, amount in made()) == [700, 10_000]


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ({"payouts_enabled": False}, {"payouts_enabled": True}),
        ({"status": "restricted"}, {"status": "active"}),
    ],
)
def test_one_that_may_not_be_made_follows_once_it_may(
    off: dict[str, Any], on: dict[str, Any], shop: ApiClient
) -> None:
    accounts.change(shop.merchant, off)
    pay_out_daily()
    assert (made(), ScheduleLook.objects.count()) == ([], 0)
    accounts.change(shop.merchant, on)

    pay_out_daily()

    assert made() == [(MONDAY, 10_000)]


def test_looks_beside_each_other_pay_out_once(shop: ApiClient) -> None:
    together([pay_out_daily] * 4)

    assert made() == [(MONDAY, 10_000)]


def test_killed_before_the_day_is_written_down_it_pays_out_no_second_time(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_arguments: object, **_options: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(ScheduleLook.objects, "update_or_create", die)
        with pytest.raises(Killed):
            pay_out_daily()
    rich(shop, 300)

    pay_out_daily()

    assert made() == [(MONDAY, 10_000)]
    assert ScheduleLook.objects.get().day == MONDAY
