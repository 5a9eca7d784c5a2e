"""Money that goes to merchants and back, leaves, comes and becomes due (I2, I6, I7, I9)."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

import pytest
from django.db import DatabaseError
from hypothesis import Phase

from ledger import book, parts
from tests.service.test_money import run
from tests.stage import all_money_machine
from tests.stage.all_money_machine import AllMoney
from tests.stage.lengths import length, tried
from tests.stage.money_machine import Money
from tests.stage.settlement_faults import settle_parts_again
from tests.stage.transfer_stories import ENDINGS

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.timeout(3600),
]


# The endings are dealt to so many tests: one of all would go on alone for minutes. The gate plays
# the first hand.
HANDS = length(short=9, full=3)


def walked() -> Counter[str]:
    """Let everything happen once; return how often each rule was tried."""
    Money.fired, Money.reached = Counter(), Counter()
    all_money_machine.walk()
    return Money.fired


@pytest.mark.proof(part="money")
@pytest.mark.dear("a merchant's money by each way on which it leaves, comes and becomes due")
@pytest.mark.parametrize("hand", range(length(short=1, full=HANDS)))
def test_all_books_agree_wherever_money_leaves_and_comes(hand: int) -> None:
    terms = length(short={"steps": 15}, full={"steps": 30, "enough": 1})
    fired, examples = walked(), 0

    for ending in [*ENDINGS][hand::HANDS]:
        examples += run(ending, length(short=1, full=12), Phase.generate, of=AllMoney, **terms)
        fired += Money.fired

    print(f"tried: {dict(sorted(fired.items()))}")  # noqa: T201
    assert all_money_machine.never_tried(fired) == []
    tried(examples, "merchants' money of every kind")


# --- The walk finds what it is there for ------------------------------------------------------


def a_returned_payout_is_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(book, "payout_bounced", lambda *_given, **_terms: None)


def a_remainder_is_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "split", lambda amount, dates: real_split(even(amount, dates), dates))


real_split = parts.split


def even(amount: int, dates: Sequence[date]) -> int:
    return amount - amount % len(dates)


PLANTS = [a_returned_payout_is_kept, settle_parts_again, a_remainder_is_dropped]


@pytest.mark.proof(part="money")
@pytest.mark.planted
@pytest.mark.parametrize("plant", PLANTS)
def test_the_walk_finds_a_planted_fault(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises((AssertionError, DatabaseError)) as found:
        walked()
    print(f"{plant.__name__}: {str(found.value)[:300]}")  # noqa: T201
