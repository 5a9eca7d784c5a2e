"""Charges, refunds, disputes, payouts and runs at once: no money is lost, and none is had twice."""

from collections import Counter
from collections.abc import Callable

import pytest
from django.db.models import Sum

from ledger import book, parts, settlement
from ledger.models import LedgerEntry, Movement
from tests.stage.book_keeping import Till, limit, price
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import chance, length, tried
from tests.stage.threads import team

# In real transactions, on connections of their own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]

CONTESTANTS = 6
MOVES: dict[str, Callable[[Till, Movement], object]] = {
    "charge": lambda till, _charge: till.charge(5_000, parts=2),
    "refund": lambda till, charge: till.refund(charge, 10),
    "dispute": lambda till, charge: till.dispute(charge, 20),
    "payout": lambda till, _charge: till.payout(100),
    "run": lambda till, _charge: till.settle(days=0),
}


@pytest.mark.dear("six threads that move one merchant's money, round after round")
def test_money_that_moves_at_once_is_counted_once() -> None:
    run(rounds=6)


@pytest.mark.proof(part="races")
@pytest.mark.only_full("its twin above is in every run")
def test_money_that_moves_at_once_is_counted_once_however_often() -> None:
    rounds = length(short=20, full=150)

    ended = run(rounds)

    assert MOVES.keys() <= ended.keys()
    tried(rounds, "rounds of money that moves")


@pytest.mark.proof(part="races")
@pytest.mark.planted
def test_the_races_find_a_run_that_refunds_overtake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "_require_not_overtaken", lambda *_due: None)

    with pytest.raises(AssertionError):
        run(rounds=100)


def run(rounds: int) -> Counter[str]:
    """Let contestants meet on one day after the other, and look at the books after each."""
    till, ended = Till(MerchantFactory()), Counter[str]()
    price(till.merchant)
    limit(till.merchant, 5_000)
    with team(CONTESTANTS) as meet:
        for turn in range(rounds):
            # Of different charges: the lock on their payment keeps those of one charge apart.
            charges = [till.charge(10_000) for _ in range(CONTESTANTS)]
            till.today = till.today.fromordinal(till.today.toordinal() + 1)
            ended.update(meet(contestants(till, charges, turn)))
            assert_books_agree(till)
    till.settle(days=100)
    assert till.sums()["pending"] == 0
    print(f"{rounds} rounds: {dict(ended)}")  # noqa: T201
    return ended


def contestants(till: Till, charges: list[Movement], turn: int) -> list[Callable[[], str]]:
    kinds = ["run", *chance("money", turn).choices([*MOVES], k=CONTESTANTS - 1)]
    return [contestant(till, *each) for each in zip(kinds, charges, strict=True)]


def contestant(till: Till, kind: str, charge: Movement) -> Callable[[], str]:
    def call() -> str:
        try:
            return kind if MOVES[kind](till, charge) else f"no {kind}"
        except book.InsufficientFunds:
            return f"{kind} without funds"

    return call


def assert_books_agree(till: Till) -> None:
    sums = till.sums()
    net = Movement.objects.filter(merchant=till.merchant).aggregate(total=Sum("net"))["total"]
    assert sum(sums.values()) == 0
    assert net == sums["pending"] + sums.get("available", 0)
    # Parts that no run has reached are all that is pending, and none is below zero.
    last = parts.last_run(till.merchant.id, till.currency)
    unsettled = parts.open_entries(till.merchant.id, last).exclude(movement__kind="settlement")
    by_part = unsettled.values_list("movement__charge_id", "available_on").annotate(Sum("amount"))
    assert min((amount for *_part, amount in by_part), default=0) >= 0
    assert sum(amount for *_part, amount in by_part) == sums["pending"]
    pending = LedgerEntry.objects.filter(merchant=till.merchant, available_on__isnull=False)
    by_date = pending.values_list("available_on").annotate(Sum("amount"))
    assert min(amount for _day, amount in by_date) >= 0
