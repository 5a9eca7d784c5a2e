"""However often settlement looks: day by day and in one jump it comes to the same (property)."""

from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from ledger import calendar_changes
from ledger.balance import InsufficientFunds
from ledger.models import LedgerEntry, Movement, Run
from tests.stage.book_keeping import CAPTURED_ON, Till, price, schedule
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import SEED, length, tried

pytestmark = [pytest.mark.django_db, pytest.mark.proof(part="ledger")]

MOST_CAPTURED_AFTER = 20


class Sold(NamedTuple):
    """A charge on a day; parts of it go back on later ones."""

    day: int
    amount: int
    surcharge: int
    parts: int
    refunds: tuple[tuple[int, int], ...]


sold = st.builds(
    Sold,
    day=st.integers(0, MOST_CAPTURED_AFTER),
    amount=st.integers(1, 10**9),
    surcharge=st.integers(0, 10**6),
    parts=st.sampled_from((1, 1, 2, 3, 6, 12)),
    refunds=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 10**6)), max_size=2
    ).map(tuple),
)  # fmt: skip
terms = st.fixed_dictionaries({
    "bps": st.integers(0, 10_000), "fixed": st.integers(0, 500), "returns_fee": st.booleans(),
})  # fmt: skip


class Shop:
    """A merchant who sells and gives back; its days go by as often as they are asked to."""

    def __init__(self, sales: list[Sold], price_of: dict[str, Any], delay_days: int) -> None:
        merchant = MerchantFactory()
        price(merchant, **price_of)
        self.till = Till(merchant)
        schedule(merchant, delay_days=delay_days)
        self.deeds = _by_day(sales)
        self.days = _last_day(sales, delay_days)
        self.charges: dict[int, Movement] = {}

    def live(self, settles_each: int) -> None:
        """Let all days pass, and settle after every so many of them, and at the end."""
        for day in range(self.days + 1):
            self.till.today = CAPTURED_ON + timedelta(days=day)
            for number, deed in self.deeds.get(day, ()):
                self._do(number, deed)
            if day % settles_each == 0 or day == self.days:
                self.till.settle(days=0)

    def _do(self, number: int, deed: Sold | int) -> None:
        if isinstance(deed, Sold):
            amount = deed.amount + deed.surcharge
            charged = self.till.charge(amount, surcharge=deed.surcharge, parts=deed.parts)
            self.charges[number] = charged
        else:
            # Fees may have taken all that there was; on each of the ways alike.
            with suppress(InsufficientFunds):
                self.till.refund(self.charges[number], deed)


def _last_day(sales: list[Sold], delay_days: int) -> int:
    """Return a day on which nothing is pending any more: behind feasts and weekends, too."""
    ends = [
        day
        for sale in sales
        for day in (
            sale.day + 31 * (sale.parts - 1) + 2 * delay_days + 25,
            *(sale.day + later for later, _amount in sale.refunds),
        )
    ]
    return max(ends) + 1


def _by_day(sales: list[Sold]) -> dict[int, list[tuple[int, Sold | int]]]:
    deeds: dict[int, list[tuple[int, Sold | int]]] = {}
    for number, sale in enumerate(sales):
        deeds.setdefault(sale.day, []).append((number, sale))
        left = sale.amount + sale.surcharge
        for later, amount in sorted(sale.refunds):
            part = min(amount, left)
            left -= part
            if part:
                deeds.setdefault(sale.day + later, []).append((number, part))
    return deeds


def at_the_end(shop: Shop, settles_each: int) -> int:
    """Let a shop live; return what it has. Nothing is pending, and each date was settled once."""
    shop.live(settles_each)
    sums = shop.till.sums()
    runs = list(Run.objects.filter(merchant=shop.till.merchant).order_by("created_at"))
    assert sums.get("pending", 0) == 0
    assert sum(sums.values()) == 0
    assert [run.date for run in runs] == sorted({run.date for run in runs})
    moved = Movement.objects.filter(merchant=shop.till.merchant, kind="settlement")
    assert {movement.cause_id for movement in moved} <= {run.id for run in runs}
    assert sum(run.amount for run in runs) == _settled(shop)
    return sums.get("available", 0)


def _settled(shop: Shop) -> int:
    """Return what runs made available, by the lines of `available`."""
    rows = LedgerEntry.objects.filter(merchant=shop.till.merchant, account__kind="available")
    settled = rows.filter(movement__kind="settlement").aggregate(total=Sum("amount"))
    return int(settled["total"] or 0)


def test_day_by_day_is_one_jump_over_all_days() -> None:
    played = 0

    @seed(SEED)
    @settings(
        max_examples=length(short=3, full=60), deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        sales=st.lists(sold, min_size=1, max_size=4),
        price_of=terms,
        delay_days=st.integers(0, 30),
        holidays=st.sets(st.integers(0, 120), max_size=6),
        step=st.integers(2, 90),
    )
    def play(
        sales: list[Sold],
        price_of: dict[str, Any],
        delay_days: int,
        holidays: set[int],
        step: int,
    ) -> None:
        nonlocal played
        played += 1
        # No block of its own: to open accounts is a transaction that lies in none.
        before = transaction.savepoint()
        for days in holidays:
            _close(CAPTURED_ON + timedelta(days=days))
        shops = [Shop(sales, price_of, delay_days) for _ in range(3)]

        daily, seldom, once = map(at_the_end, shops, (1, step, 10_000))

        assert daily == seldom == once
        transaction.savepoint_rollback(before)

    play()
    tried(played, "merchants who were settled day by day, seldom, and in one jump")


def _close(day: date) -> None:
    calendar_changes.change("TR", day, is_holiday=True, reason="Closed.")
