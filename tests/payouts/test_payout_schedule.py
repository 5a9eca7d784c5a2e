"""Payouts by schedule: on its days, all that is available, once."""

from datetime import date
from typing import Any

import pytest

from api import request_logs
from core import context
from core.errors import UpstreamUnavailable
from ledger import accounts as ledger_accounts
from ledger import calendar
from ledger.calendar import Calendar
from merchants import accounts
from merchants.accounts import MerchantRestricted
from merchants.models import Merchant, PayoutSchedule
from payouts import schedule
from payouts.models import Payout
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.threads import together
from tests.stage.transfers import balance, rich, told

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

MONDAY = date(2027, 1, 11)
PLAIN = Calendar("XX", frozenset(), frozenset())


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    accounts.change(acme.merchant, {"payout_schedule": {"interval": "daily"}})
    return rich(acme, 10_000)


def pay_out(client: ApiClient, day: date = MONDAY) -> Payout | None:
    with context.work(), request_logs.job("payouts.schedule"):
        return schedule.pay_out(client.merchant, "try", day)


def test_all_that_is_available_is_paid_out_once_a_day(shop: ApiClient) -> None:
    made = pay_out(shop)
    rich(shop, 300)

    assert pay_out(shop) is None
    assert (made.amount, made.automatic, balance(shop)) == (10_000, True, 300)
    assert shop.get(f"/v1/payouts/{made.id}")["automatic"] is True
    assert told(shop, made.id) == ["created"]
    assert pay_out(shop, date(2027, 1, 12)).amount == 300


def test_less_than_the_minimum_is_not_paid_out(shop: ApiClient) -> None:
    accounts.change(shop.merchant, {"payout_schedule": {"minimum_amount": 10_001}})

    assert (pay_out(shop), balance(shop)) == (None, 10_000)


def test_what_an_operator_switches_off_meanwhile_is_no_error_of_the_job(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ledger_accounts.lock

    def lock_that_is_waited_for(*pot: str) -> None:
        Merchant.objects.update(payouts_enabled=False)
        real(*pot)

    monkeypatch.setattr(ledger_accounts, "lock", lock_that_is_waited_for)

    with pytest.raises(MerchantRestricted):
        pay_out(shop)
    assert balance(shop) == 10_000


def test_an_account_that_may_have_none_gets_none(shop: ApiClient, settings: Any) -> None:
    settings.TRANSFERS = ""
    with pytest.raises(UpstreamUnavailable):
        pay_out(shop)
    settings.TRANSFERS = "acquirers.sandbox.transfers.SandboxTransfers"
    shop.merchant = accounts.change(shop.merchant, {"payouts_enabled": False})

    with pytest.raises(MerchantRestricted):
        pay_out(shop)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_runs_that_meet_pay_out_once(shop: ApiClient) -> None:
    made = together([lambda: pay_out(shop)] * 4)

    assert len([one for one in made if one]) == Payout.objects.count() == 1


@pytest.mark.parametrize(
    ("terms", "days"),
    [
        ({"interval": "manual"}, []),
        # Of January 2027: the 1st is a Friday.
        ({"interval": "daily"}, [1, 4, 5, 6, 7, 8, 11]),
        ({"interval": "weekly", "weekly_anchor": "tuesday"}, [5]),
        ({"interval": "weekly", "weekly_anchor": "saturday"}, [4, 11]),
        ({"interval": "monthly", "monthly_anchor": 6}, [6]),
        ({"interval": "monthly", "monthly_anchor": 9}, [11]),
        ({"interval": "monthly", "monthly_anchor": 31}, []),
    ],
    ids=str,
)
def test_it_is_due_on_its_day_or_the_next_business_day(
    terms: dict[str, Any], days: list[int]
) -> None:
    found = [
        day for day in range(1, 12)
        if schedule.is_due(PayoutSchedule(**terms), date(2027, 1, day), PLAIN)
    ]  # fmt: skip

    assert found == days


def test_a_month_without_that_day_pays_out_on_its_last() -> None:
    terms = PayoutSchedule(interval="monthly", monthly_anchor=31)

    # 28 February 2027 is a Sunday.
    assert schedule.is_due(terms, date(2027, 3, 1), PLAIN)
    assert not schedule.is_due(terms, date(2027, 2, 26), PLAIN)
    assert not schedule.is_due(terms, date(2027, 10, 29), calendar.of("TR"))
