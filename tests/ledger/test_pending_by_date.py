"""Pending money by the date on which it becomes available, and what a run has settled."""

from datetime import date

import pytest
from django.db.models import Sum

from ledger import book, parts
from ledger.models import Run
from tests.stage.book_keeping import CAPTURED_ON, Till
from tests.stage.factories import MerchantFactory

# In real transactions: a run waits for those of before.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def till() -> Till:
    return Till(MerchantFactory())


def pending(till: Till) -> dict[date, int]:
    runs = {run.currency: run for run in reversed(parts.latest_runs(till.merchant.id, 1))}
    found = parts.by_date(till.merchant.id, [till.currency, "usd"], runs)
    assert set(found) <= {till.currency}
    return found.get(till.currency, {})


def settled(run: Run | None) -> int:
    assert run is not None
    found: int = parts.settled_by(run).aggregate(sum=Sum("amount"))["sum"]
    return found


def test_each_part_stands_at_its_date_until_it_is_settled(till: Till) -> None:
    till.charge(10000)
    till.charge(10000, parts=3)
    first = pending(till)

    run = till.settle()

    assert list(first.values()) == [13334, 3333, 3333]
    assert list(first) == sorted(first)
    assert sum(pending(till).values()) == till.sums()["pending"] == 6666
    assert list(pending(till).values()) == [3333, 3333]
    assert settled(run) == run.amount == 13334  # type: ignore[union-attr]


def test_what_was_refunded_is_not_awaited(till: Till) -> None:
    charge = till.charge(10000)
    till.void(till.charge(5000))
    till.refund(charge, 4000)

    assert list(pending(till).values()) == [6000]


def test_what_comes_late_is_awaited_and_settled_by_the_next_run(till: Till) -> None:
    charge = till.charge(10000)
    refund = till.refund(charge, 4000)
    till.then(refund, book.refund_paid)
    first = till.settle()
    till.then(refund, book.refund_bounced)
    late = pending(till)

    second = till.settle()

    assert late == {date(2026, 11, 3): 4000}
    assert pending(till) == {}
    assert [settled(first), settled(second)] == [6000, 4000]


def test_runs_of_another_merchant_and_currency_stay_theirs(till: Till) -> None:
    others = [Till(MerchantFactory()), Till(till.merchant, "usd")]
    for one in (till, *others):
        one.charge(10000 if one is till else 700)
    run = till.settle()
    theirs = [one.settle() for one in others]

    runs = parts.latest_runs(till.merchant.id, 1)

    assert [settled(one) for one in (run, *theirs)] == [10000, 700, 700]
    assert {one.currency for one in runs} == {"try", "usd"}
    assert runs[0].date > CAPTURED_ON
