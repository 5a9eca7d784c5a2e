"""Sums per day, and the balance after a movement: right in whatever order movements are made."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from core import clock
from ledger import balance, book, checkpoints, day_sums, transactions
from ledger.models import DaySum, LedgerEntry, Movement
from merchants.models import Merchant
from tests.stage.book_keeping import Till
from tests.stage.factories import MerchantFactory
from tests.stage.journal_writers import open_accounts, writing

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture
def merchant() -> Merchant:
    return open_accounts(MerchantFactory())


@pytest.fixture
def till(merchant: Merchant) -> Till:
    return Till(merchant)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(clock, "now", lambda: moment)


def all_kinds(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move money in each way, over some days, and once before what was there already."""
    start = datetime(2026, 11, 2, 21, 30, tzinfo=UTC)
    at(monkeypatch, start)
    charge = till.charge(100_00, surcharge=5_00, parts=3)
    at(monkeypatch, start + timedelta(hours=3))
    refund = till.refund(charge, 40_00)
    till.then(refund, book.refund_returned)
    till.topup(500_00)
    at(monkeypatch, start + timedelta(days=1))
    till.then(till.payout(90_00), book.payout_paid)
    till.settle(days=40)
    till.dispute(charge, 10_00)
    at(monkeypatch, start - timedelta(days=2))
    till.topup(7_00)
    at(monkeypatch, start + timedelta(hours=3))
    till.topup(1_00)


def in_order(merchant: Merchant) -> list[Movement]:
    return list(transactions.of_merchant(merchant).order_by("created_at", "id"))


def counted(merchant: Merchant) -> list[int]:
    """Return the balance after each movement, from one to the next."""
    sums, total = [], 0
    for movement in in_order(merchant):
        total += movement.net
        sums.append(total)
    return sums


def shown(merchant: Merchant) -> list[int]:
    """Return the same as pages show it; of each row alone, and of rows with gaps between them."""
    rows = in_order(merchant)
    together = day_sums.balances_after(rows).amounts
    for some in (*([row] for row in rows), rows[::2], rows[::-3]):
        alone = day_sums.balances_after(some).amounts
        assert alone == {row.id: together[row.id] for row in some}
    return [together[row.id] for row in rows]


@pytest.mark.parametrize("chunk", [1, 3, 50_000])
def test_the_balance_after_a_movement_is_that_of_all_before_it(
    till: Till, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", chunk)
    all_kinds(till, monkeypatch)

    behind = shown(till.merchant)
    checkpoints.advance()
    kept = shown(till.merchant)

    funds = balance.funds(till.merchant.id, "try")
    assert behind == kept == counted(till.merchant)
    assert kept[-1] == funds.available + funds.pending


@pytest.mark.parametrize("today", [3, 4, 5, 9])
def test_a_balance_is_reached_from_the_midnight_before_and_the_one_after(
    till: Till, monkeypatch: pytest.MonkeyPatch, today: int
) -> None:
    begin = datetime(2026, 11, 3, tzinfo=UTC)
    hours = [0, 0, 0.5, 11.9, 12, 12.1, 18, 23.9, 24, 24, 30, 36, 47, 48, 61, 71.9]
    for number, hour in enumerate(hours, start=1):
        at(monkeypatch, begin + timedelta(hours=hour))
        till.topup(number * 100)
    checkpoints.advance()
    at(monkeypatch, begin.replace(day=today))

    assert shown(till.merchant) == counted(till.merchant)


def test_what_is_committed_soon_after_midnight_changes_no_balance_before_it(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    midnight = datetime(2026, 11, 4, tzinfo=UTC)
    at(monkeypatch, midnight - timedelta(hours=6))
    till.topup(100)
    [row] = in_order(till.merchant)
    read = day_sums._nets

    def read_later(*given: Any) -> list[int]:
        at(monkeypatch, midnight - timedelta(seconds=1))
        till.topup(7)
        return read(*given)

    monkeypatch.setattr(day_sums, "_nets", read_later)
    at(monkeypatch, midnight + timedelta(minutes=30))

    assert day_sums.balances_after([row]).amounts == {row.id: 100}


def test_the_balance_at_a_moment_is_that_of_all_before_it(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_kinds(till, monkeypatch)
    Till(till.merchant, "usd").topup(3)
    rows = in_order(till.merchant)
    first, last = rows[0].created_at, rows[-1].created_at
    moments = [first + timedelta(hours=hours) for hours in range(-30, 150, 7)] + [last]
    wanted = {
        currency: [
            sum(row.net for row in rows if row.currency == currency and row.created_at < moment)
            for moment in sorted(moments)
        ]
        for currency in ("try", "usd")
    }

    behind = day_sums.balances_at(till.merchant.id, ["try", "usd"], sorted(moments))
    checkpoints.advance()
    kept = day_sums.balances_at(till.merchant.id, ["try", "usd"], sorted(moments))

    assert behind == kept == wanted
    assert len({*wanted["try"]}) == 4


@pytest.mark.parametrize("chunk", [1, 2, 50_000])
def test_a_day_has_the_sums_of_its_entries(
    till: Till, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", chunk)
    all_kinds(till, monkeypatch)

    while checkpoints.advance():
        pass

    kept = {(one.day, one.type): one for one in DaySum.objects.for_merchant(till.merchant)}
    rows = transactions.of_merchant(till.merchant)
    assert sum(one.count for one in kept.values()) == rows.count()
    for (day, kind), one in kept.items():
        entries = LedgerEntry.objects.filter(
            merchant=till.merchant,
            movement__created_at__gte=datetime.combine(day, datetime.min.time(), UTC),
            movement__created_at__lt=datetime.combine(day, datetime.min.time(), UTC)
            + timedelta(days=1),
            movement__type=kind or None,
        )
        for account in ("available", "pending", "reserved", "fees", "surcharge"):
            own = entries.filter(account__kind=account).values_list("amount", flat=True)
            assert getattr(one, account.replace("fees", "fee")) == sum(own), (day, kind, account)


def test_a_movement_that_is_committed_late_is_in_the_sums_of_its_day(merchant: Merchant) -> None:
    with writing() as writer:
        writer.topup(merchant, 5)
        Till(merchant).topup(70)
        checkpoints.advance()
        before = shown(merchant)
        writer.commit()

    checkpoints.advance()
    checkpoints.advance()

    assert before == [70]
    assert shown(merchant) == counted(merchant)
    assert shown(merchant)[-1] == 75


def test_a_lost_boundary_adds_nothing_twice(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    all_kinds(till, monkeypatch)
    checkpoints.advance()
    before = list(DaySum.objects.order_by("day", "type").values())

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ledger_boundary")
    checkpoints.advance()
    checkpoints.advance()

    assert list(DaySum.objects.order_by("day", "type").values()) == before
