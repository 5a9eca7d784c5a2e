"""How far a merchant's money goes: funds for refunds and payouts, and the limit below zero."""

from typing import Any

import pytest
from django.db import connection, transaction

from core import clock
from ledger import book
from ledger.models import Movement
from tests.stage.book_keeping import Till, limit, price
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def till(acme: ApiClient) -> Till:
    return Till(acme.merchant)


@pytest.fixture
def costly(till: Till) -> Till:
    """A merchant whose charges are all fee."""
    price(till.merchant, bps=10_000, fixed=0)
    return till


def exceeded(acme: ApiClient) -> list[dict[str, Any]]:
    """Return the events that tell of the limit, oldest first."""
    events = acme.events_of(f"bal_{acme.merchant.id.removeprefix('mer_')}")
    return [one for one in events if one["type"] == "balance.negative_limit_exceeded"]


def test_a_refund_without_funds_is_not_written(till: Till) -> None:
    charge = till.charge(10000)
    till.settle()
    till.payout(10000)

    with pytest.raises(book.InsufficientFunds):
        till.refund(charge, 1)

    assert not Movement.objects.filter(kind="refund").exists()


def test_a_refund_may_go_down_to_the_limit_and_no_further(till: Till) -> None:
    limit(till.merchant, 3000)
    charge = till.charge(10000)
    till.settle()
    till.payout(10000)

    till.refund(charge, 3000)
    with pytest.raises(book.InsufficientFunds):
        till.refund(charge, 1)

    assert till.sums()["available"] == -3000


def test_what_is_pending_counts_for_a_refund_and_not_for_a_payout(till: Till) -> None:
    charge = till.charge(10000)
    till.settle()
    till.payout(10000)
    till.charge(500)

    with pytest.raises(book.InsufficientFunds):
        till.payout(1)
    assert till.refund(charge, 500)


def test_a_void_needs_no_funds(till: Till) -> None:
    charge = till.charge(10000)
    till.settle()
    till.payout(10000)
    till.dispute(charge, 10000)
    other = till.charge(500)

    with pytest.raises(book.InsufficientFunds):
        till.refund(other, 500)
    assert till.void(other)


@pytest.mark.parametrize("amount", [999, 1000])
def test_an_available_down_to_the_limit_is_not_told(
    amount: int, costly: Till, acme: ApiClient
) -> None:
    limit(costly.merchant, 1000)

    owe(costly, amount)

    assert costly.sums()["available"] == -amount
    assert exceeded(acme) == []


def test_an_available_below_the_limit_is_told_once_until_it_is_back(
    costly: Till, acme: ApiClient
) -> None:
    limit(costly.merchant, 1000)

    owe(costly, 1001)
    owe(costly, 500)
    assert len(exceeded(acme)) == 1
    costly.topup(501)
    owe(costly, 1)

    assert len(exceeded(acme)) == 2


def test_a_topup_that_is_reversed_may_take_what_is_gone(till: Till, acme: ApiClient) -> None:
    topup = till.topup(1000)
    till.payout(1)

    till.then(topup, book.topup_reversed)

    assert till.sums()["available"] == -1
    assert len(exceeded(acme)) == 1


def test_the_event_shows_the_balance_and_what_it_was(till: Till, acme: ApiClient) -> None:
    charge = till.charge(10000)
    till.settle()
    till.payout(10000)
    till.charge(300)

    till.dispute(charge, 10000)

    [event] = exceeded(acme)
    body, before = event["data"]["object"], event["data"]["previous_attributes"]
    assert body["available"] == [{"amount": -10000, "currency": "try"}]
    assert body["pending"] == [{"amount": 300, "currency": "try"}]
    assert before == {
        "available": [{"amount": 0, "currency": "try"}],
        "reserved": [{"amount": 0, "currency": "try"}],
    }
    assert body == acme.get("/v1/balance").body


def test_the_balance_shows_the_limit(till: Till, acme: ApiClient) -> None:
    limit(till.merchant, 100_000)

    assert acme.get("/v1/balance")["negative_limit"] == [{"amount": 100_000, "currency": "try"}]


@pytest.mark.parametrize("owed", [0, 3000])
def test_no_more_is_written_off_than_is_owed(costly: Till, owed: int) -> None:
    if owed:
        owe(costly, owed)
    terms = {"currency": "try", "cause_id": "act_1", "now": clock.now()}

    with pytest.raises(book.NotOwed) as refusal, transaction.atomic():
        book.write_off(costly.merchant.id, amount=owed + 1, **terms)

    assert refusal.value.owed == owed
    assert not Movement.objects.filter(kind="write_off").exists()


def owe(till: Till, amount: int) -> None:
    """Take so much of what was never there: a dispute about money that was all fee."""
    till.dispute(till.charge(amount), amount)


# --- Shares -----------------------------------------------------------------------------------


def test_a_refund_that_failed_leaves_its_shares_to_a_dispute(till: Till) -> None:
    charge = till.charge(12600, surcharge=600)
    till.then(till.refund(charge, 5000), book.refund_returned)
    before = till.sums()

    opened = till.dispute(charge, 12600)
    till.then(opened, book.dispute_lost)

    assert (opened.amount, opened.surcharge) == (-12000, -600)
    assert before["surcharge"] == 600
    assert (till.sums()["surcharge"], till.sums()["acquirer"]) == (0, 0)


@pytest.mark.parametrize("ends", [book.dispute_won, book.dispute_lost])
def test_a_dispute_of_one_kurus_may_be_the_surcharges_alone(till: Till, ends: Any) -> None:
    charge = till.charge(12600, surcharge=600)
    till.refund(charge, 20)

    opened = till.dispute(charge, 1)  # The surcharge's share of 21 is 1, that of 20 was 0.
    till.then(opened, ends)

    connection.check_constraints()
    assert opened.card_money == -1
    last = till.refund(charge, 12600 - 20 - (1 if ends is book.dispute_lost else 0))
    till.then(last, book.refund_paid)
    assert till.sums()["surcharge"] == 0


def test_a_refund_of_one_kurus_may_have_a_share_of_surcharge_and_fee_at_once(
    till: Till,
) -> None:
    price(till.merchant, bps=10_000, fixed=0, returns_fee=True)
    limit(till.merchant, 200)  # One may take both before the next brings nothing back.
    charge = till.charge(200, surcharge=100)
    for _ in range(200):
        till.refund(charge, 1)

    held = {kind: amount for kind, amount in till.sums().items() if amount}
    assert held == {"acquirer": -200, "refunds": 200}
