"""In whatever order money moves, the ledger's sums and shares are right (contract-money)."""

from collections import Counter
from collections.abc import Callable, Set
from datetime import date

import pytest
from django.db import DatabaseError
from django.db.models import Sum
from hypothesis import Phase

from ledger import charges
from ledger.charges import Charge
from ledger.models import LedgerEntry, Movement
from tests.stage.drawn_steps import draw_until
from tests.stage.ledger_machine import KINDS, Money, MoneyWithFeesBack
from tests.stage.lengths import SEED, tried
from tests.stage.settlement_faults import settle_parts_again, settle_settlements

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1800)]


def run(
    machine: type[Money],
    examples: int,
    *phases: Phase,
    must_fire: Set[str] = KINDS,
    draws: int = SEED,
) -> int:
    """Run the machine until money moved in each way; print how often, return the examples."""
    machine.fired = Counter()
    drawn = draw_until(
        lambda: must_fire - set(machine.fired), machine, examples, *phases, steps=25, draws=draws
    )
    print(f"{drawn} examples: {dict(machine.fired)}")  # noqa: T201
    return drawn


@pytest.mark.dear("whatever can happen to money, in dozens of orders of 25 steps each")
@pytest.mark.parametrize("machine", [Money, MoneyWithFeesBack])
def test_the_books_are_right_in_whatever_order_money_moves(machine: type[Money]) -> None:
    run(machine, 10, must_fire={"charge", "refund", "dispute_opened", "settlement"})


@pytest.mark.proof(part="order")
@pytest.mark.only_full("its twin above is in every run")
@pytest.mark.parametrize("machine", [Money, MoneyWithFeesBack])
def test_the_books_are_right_however_much_money_moves(machine: type[Money]) -> None:
    tried(run(machine, 250), "examples")


# --- The machine finds what it is there for ---------------------------------------------------


def each_share_rounded_alone(patch: pytest.MonkeyPatch) -> None:
    def share(charge: Charge, amount: int, whole: int, _back: int, _given: int) -> int:
        return whole * amount // charge.movement.card_money

    patch.setattr(Charge, "_share", share)


def a_dispute_without_its_share(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Charge, "draft", lambda *given, **terms: without_surcharge(*given, **terms))


def a_dispute_left_without_its_share(patch: pytest.MonkeyPatch) -> None:
    """Let refunds bring back what they took, also if a dispute found nothing left to share."""
    patch.setattr(charges, "surcharge_left", lambda _last: 0)


def runs_unknown_to_refunds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(charges.parts, "unsettled", ever_charged)


draft = Charge.draft


def without_surcharge(*given: object, **terms: object) -> Movement:
    movement = draft(*given, **terms)
    if movement.kind == Movement.Kind.DISPUTE_OPENED:
        movement.surcharge = 0
    return movement


def ever_charged(charge: Movement) -> dict[date, int]:
    entries = LedgerEntry.objects.filter(
        movement__charge_id=charge.charge_id, available_on__isnull=False
    )
    sums = entries.values_list("available_on").annotate(Sum("amount"))
    return {day: int(amount) for day, amount in sums}


PLANTS = [
    each_share_rounded_alone,
    a_dispute_without_its_share,
    a_dispute_left_without_its_share,
    settle_parts_again,
    settle_settlements,
    runs_unknown_to_refunds,
]


@pytest.mark.proof(part="order")
@pytest.mark.planted
@pytest.mark.parametrize("plant", PLANTS)
def test_the_machine_finds_a_planted_fault(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    for draws in range(1, 11):
        try:
            run(Money, 30, Phase.generate, must_fire=frozenset(), draws=draws)
        except (AssertionError, DatabaseError) as found:
            print(f"{plant.__name__}: draw {draws}: {found}")  # noqa: T201
            return
    pytest.fail("10 draws of 30 examples did not find it")
