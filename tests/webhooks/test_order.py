"""Per endpoint and object, events go in order, and none is lost (I9)."""

from collections import Counter
from collections.abc import Set

import pytest
from django.db import IntegrityError
from hypothesis import Phase

from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, tried
from tests.stage.webhook_machine import KINDS, Deliveries
from webhooks.delivery import fairness, lanes

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1800)]

FREE = "AND (leased_until IS NULL OR leased_until <= now())"


def run(
    examples: int,
    *phases: Phase,
    steps: int = 30,
    must_fire: Set[str] = frozenset(KINDS),
    draws: int = SEED,
) -> int:
    """Run the machine until each rule did something; print how often, return the examples."""
    Deliveries.fired = Counter()
    drawn = draw_until(
        lambda: must_fire - set(Deliveries.fired),
        Deliveries, examples, *phases, steps=steps, draws=draws,
    )  # fmt: skip
    print(f"{drawn} examples: {dict(Deliveries.fired)}")  # noqa: T201
    return drawn


@pytest.mark.dear("whatever can happen to deliveries, in dozens of orders of 15 steps each")
def test_deliveries_keep_their_order_and_none_is_lost() -> None:
    # Too few examples for all kinds; the proof below has them all.
    run(50, steps=15, must_fire={"emit", "claim", "2xx", "5xx", "disable"})


@pytest.mark.proof(part="order")
@pytest.mark.only_full("its twin above is in every run")
def test_deliveries_keep_their_order_and_none_is_lost_however_long() -> None:
    tried(run(700), "examples")


# --- The machine finds what it is there for -----------------------------------------------------


def without_the_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "LOCK", lanes.LOCK.replace("AND lane.lease_id = mine.lease_id", ""))


def newest_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "HEADS", lanes.HEADS.replace("BY sequence", "BY sequence DESC"))


def without_leases(patch: pytest.MonkeyPatch) -> None:
    for name in ("SEARCH", "LEASE"):
        assert FREE in getattr(fairness, name)
        patch.setattr(fairness, name, getattr(fairness, name).replace(FREE, ""))


# The conditions that show a fault are drawn, and some draws never bring them about. The second draw
# shows each of them within two seconds, the first takes eleven.
DRAWS = range(2, 22)
# The database's own guards find some of it before the machine does.
FOUND = (AssertionError, IntegrityError)


@pytest.mark.proof(part="order")
@pytest.mark.planted
@pytest.mark.parametrize("plant", [without_the_fence, newest_first, without_leases])
def test_the_machine_finds_a_planted_fault(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)

    for number in DRAWS:
        try:
            run(150, Phase.generate, must_fire=frozenset(), draws=number)
        except FOUND as found:
            print(f"{plant.__name__}: draw {number}: {found}")  # noqa: T201
            return
    pytest.fail(f"{len(DRAWS)} draws of 150 examples did not find it")
