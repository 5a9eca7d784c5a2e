"""Settlement: what is due becomes available, once, and a late commit is never lost."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction

from ledger import book, boundary, settlement
from ledger.models import Movement, Run
from tests.stage.book_keeping import CAPTURED_ON, Till, price
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory
from tests.stage.held_transactions import held_open
from tests.stage.threads import together

# In real transactions: others see what is committed, and wait for what is not.
pytestmark = pytest.mark.django_db(transaction=True)

TOMORROW = CAPTURED_ON + timedelta(days=1)


@pytest.fixture
def till() -> Till:
    merchant = MerchantFactory()
    price(merchant)
    return Till(merchant)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For runs that are put off: they need not wait for long."""
    monkeypatch.setattr(settlement, "PATIENCE_SECONDS", 0.1)


def test_what_is_due_becomes_available_and_is_told(acme: ApiClient) -> None:
    till = Till(acme.merchant)
    till.charge(10000)
    till.charge(10000, parts=3)

    till.settle()

    [event] = acme.events_of(f"bal_{acme.merchant.id.removeprefix('mer_')}")
    assert event["type"] == "balance.available"
    body = event["data"]["object"]
    assert body["available"] == [{"amount": 13334, "currency": "try"}]
    assert body["pending"] == [{"amount": 6666, "currency": "try"}]
    assert event["data"]["previous_attributes"] == {
        "available": [{"amount": 0, "currency": "try"}],
        "pending": [{"amount": 20000, "currency": "try"}],
    }


def test_nothing_is_settled_before_its_date(till: Till) -> None:
    till.charge(10000)

    assert till.settle(days=0) is None
    assert not Run.objects.exists()


def test_there_is_one_run_per_date(till: Till) -> None:
    till.charge(10000)
    assert till.settle()
    till.today = CAPTURED_ON
    till.charge(10000)

    assert settlement.settle(till.merchant, "try", on=TOMORROW) is None
    assert settlement.settle(till.merchant, "try", on=TOMORROW + timedelta(days=1))


def test_one_run_catches_up_after_a_jump_of_the_clock(till: Till) -> None:
    till.charge(10000, parts=3)
    till.today += timedelta(days=7)
    till.charge(10000)

    till.settle(days=100)

    assert Run.objects.count() == 1
    assert (till.sums()["pending"], till.sums()["available"]) == (0, 2 * 9725)


def test_currencies_are_settled_apart(till: Till) -> None:
    euros = Till(till.merchant, "eur")
    till.charge(10000)
    euros.charge(500)

    euros.settle()

    assert (till.sums()["pending"], euros.sums()["pending"]) == (9725, 0)


def test_parts_that_cancel_out_are_settled_too_and_nothing_is_told(acme: ApiClient) -> None:
    till = Till(acme.merchant)
    till.void(till.charge(10000))

    run = till.settle()

    listed = acme.get("/v1/balance_transactions")["data"]
    assert [row["status"] for row in listed] == ["available", "available"]
    assert run is not None
    assert not Movement.objects.filter(kind=Movement.Kind.SETTLEMENT).exists()
    assert acme.events_of(f"bal_{acme.merchant.id.removeprefix('mer_')}") == []
    assert till.settle(days=0) is None


def test_what_comes_late_with_a_date_that_is_past_is_settled_by_the_next_run(till: Till) -> None:
    till.charge(10000)
    till.settle()
    till.today = CAPTURED_ON
    till.charge(20000)

    till.settle(days=2)

    assert (till.sums()["pending"], till.sums()["available"]) == (0, 9725 + 19475)


def test_what_bounces_after_its_date_is_settled_by_the_next_run(till: Till) -> None:
    charge = till.charge(10000)
    refund = till.refund(charge, 4000)
    till.then(refund, book.refund_paid)
    till.settle()
    assert till.sums()["available"] == 5725

    till.then(refund, book.refund_bounced)
    assert till.sums()["pending"] == 4000
    till.settle()

    assert (till.sums()["pending"], till.sums()["available"]) == (0, 9725)


# --- Transactions that commit late --------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_a_transaction_held_open_across_two_runs_loses_nothing(till: Till) -> None:
    till.charge(10000)
    assert till.settle()
    till.charge(10000)
    with held_open(lambda: till.charged(20000)):
        till.charge(30000)

        assert till.settle() is None
        assert till.settle() is None
        assert till.sums()["available"] == 9725

    till.settle()

    assert till.sums()["pending"] == 0
    assert till.sums()["available"] == 2 * 9725 + 19475 + 29225


@contextmanager
def later_number_earlier_entries(till: Till) -> Iterator[None]:
    """Hold a charge open: below another's entries, above its transaction's number."""
    with ExitStack() as stack:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id()")
            stack.enter_context(held_open(lambda: till.charged(20000)))
            till.charged(10000)
        yield


@pytest.mark.usefixtures("impatient")
def test_a_run_waits_for_a_transaction_with_a_higher_number_than_all_that_ended(
    till: Till,
) -> None:
    with later_number_earlier_entries(till):
        assert till.settle() is None
    till.settle()

    assert (till.sums()["pending"], till.sums()["available"]) == (0, 9725 + 19475)


def test_a_run_that_did_not_wait_for_it_would_lose_its_charge(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    horizon = "pg_snapshot_xmax(pg_current_snapshot())"
    unsafe = boundary.READ.replace("pg_current_xact_id()", horizon)
    monkeypatch.setattr(boundary, "READ", unsafe)

    with later_number_earlier_entries(till):
        assert till.settle()
    till.settle(days=100)

    assert (till.sums()["pending"], till.sums()["available"]) == (19475, 9725)


# --- Runs beside others -------------------------------------------------------------------------


@pytest.fixture
def refunded_meanwhile(till: Till, monkeypatch: pytest.MonkeyPatch) -> Movement:
    """A charge of 10000, of which 4000 are refunded when the first run has its boundary."""
    charge, find = till.charge(10000), boundary.find

    def find_and_refund(*, patience_seconds: float) -> int | None:
        edge = find(patience_seconds=patience_seconds)
        if not Movement.objects.filter(kind="refund").exists():
            till.refund(charge, 4000)
        return edge

    monkeypatch.setattr(boundary, "find", find_and_refund)
    return charge


@pytest.mark.usefixtures("refunded_meanwhile")
def test_a_refund_that_comes_between_boundary_and_lock_is_settled_too(till: Till) -> None:
    till.settle()

    assert (till.sums()["pending"], till.sums()["available"]) == (0, 5725)


@pytest.mark.usefixtures("refunded_meanwhile")
def test_a_run_that_left_it_to_the_next_one_would_give_the_money_twice(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "_require_not_overtaken", lambda *_due: None)

    till.settle()

    assert (till.sums()["pending"], till.sums()["available"]) == (-4000, 9725)


def test_of_many_runs_at_once_one_settles(till: Till) -> None:
    till.charge(10000)

    runs = together([lambda: settlement.settle(till.merchant, "try", on=TOMORROW)] * 5)

    assert len([run for run in runs if run]) == Run.objects.count() == 1
    assert (till.sums()["pending"], till.sums()["available"]) == (0, 9725)
