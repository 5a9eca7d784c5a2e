"""A merchant that is closed: its money goes on, and what was begun is finished."""

from datetime import timedelta

import pytest

from core import clock
from ledger.tasks import settle_due
from merchants import accounts
from payouts.models import Payout
from payouts.tasks import pay_out_daily
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import limit
from tests.stage.client import ApiClient
from tests.stage.complaints import DATABASES
from tests.stage.sweeper import sweep_after
from tests.stage.topups import come, come_after, status, top_up
from tests.stage.transfers import PAYOUTS, balance, hear_after, pay_out, rich, sent, shown, told

pytestmark = pytest.mark.django_db(databases=DATABASES)

WEEK = timedelta(days=7)


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    begin_at_noon()
    return rich(acme, 10_000)


def close(shop: ApiClient) -> None:
    accounts.change(shop.merchant, {"status": "closed"})


def test_what_is_pending_becomes_available_and_is_told(shop: ApiClient) -> None:
    shop.pay(amount=5_000)
    close(shop)
    clock.advance(WEEK)

    settle_due()

    assert (balance(shop), balance(shop, "pending")) == (15_000, 0)
    assert len(shop.get("/v1/events?type=balance.available")["data"]) == 1
    assert_audit_is_clean()


def test_no_schedule_pays_it_out(shop: ApiClient) -> None:
    accounts.change(shop.merchant, {"payout_schedule": {"interval": "daily"}})
    close(shop)
    clock.advance(WEEK)
    settle_due()

    pay_out_daily()

    assert (Payout.objects.count(), balance(shop)) == (0, 10_000)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("destination", "events", "left"),
    [
        ("main", ["created", "paid"], 6_000),
        ("test_declined", ["created", "failed"], 10_000),
        ("test_bounced", ["created", "paid", "failed"], 10_000),
        ("test_silent", ["created", "paid"], 6_000),
    ],
)
def test_a_payout_in_transit_ends_as_the_bank_says(
    destination: str, events: list[str], left: int, shop: ApiClient
) -> None:
    made = pay_out(shop, 4_000, destination=destination)["id"]
    sent(made)
    close(shop)

    for _ in range(3):
        hear_after(5)
        sweep_after(3600)

    assert (told(shop, made), balance(shop)) == (events, left)
    assert_audit_is_clean()


def test_a_pending_payout_may_still_be_called_off_or_goes(shop: ApiClient) -> None:
    one, other = (pay_out(shop, 3_000)["id"] for _ in range(2))
    close(shop)

    canceled = shop.post(f"{PAYOUTS}/{one}/cancel")
    sent(other)
    hear_after(5)

    assert (canceled["status"], shown(shop, other)["status"]) == ("canceled", "paid")
    assert balance(shop) == 7_000


def test_a_refund_takes_it_below_zero_and_a_topup_of_before_fills_it(shop: ApiClient) -> None:
    limit(shop.merchant, 100_000)
    paid = shop.pay(amount=5_000)["id"]
    awaited = top_up(shop, 6_000, source="test_reverse")["id"]
    clock.advance(WEEK)
    settle_due()
    pay_out(shop, 15_000)
    close(shop)

    shop.refund(paid, 5_000)
    assert balance(shop) == -5_000
    come()
    assert (status(awaited), balance(shop)) == ("succeeded", 1_000)
    assert pay_out(shop, 1).refusal == (403, "merchant_restricted", None)
    assert top_up(shop).refusal[:2] == (403, "merchant_restricted")
    come_after(5)

    assert (status(awaited), balance(shop)) == ("reversed", -5_000)
