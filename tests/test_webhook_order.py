"""Per endpoint and object, events go in order, and none is lost (I9)."""

from collections import Counter
from collections.abc import Set

import pytest
from django.db import IntegrityError
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.webhook_machine import KINDS, Deliveries
from webhooks import lanes, turns

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1800)]

FREE = "AND (leased_until IS NULL OR leased_until <= now())"


def run(
    examples: int,
    *phases: Phase,
    steps: int = 30,
    must_fire: Set[str] = frozenset(KINDS),
    machine: type[Deliveries] = Deliveries,
) -> None:
    """Run the machine and print how often each rule did something."""
    Deliveries.fired = Counter()
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            phases=phases or (Phase.generate, Phase.shrink),
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )
    print(f"{examples} examples: {dict(Deliveries.fired)}")  # noqa: T201
    assert must_fire - {kind for kind, times in Deliveries.fired.items() if times} == set()


def test_deliveries_keep_their_order_and_none_is_lost() -> None:
    # Too few examples for all kinds; the proof below has them all.
    run(50, steps=15, must_fire={"emit", "claim", "2xx", "5xx", "disable"})


@pytest.mark.proof
def test_deliveries_keep_their_order_and_none_is_lost_however_long() -> None:
    run(500)


# --- The machine finds what it is there for -----------------------------------------------------


def without_the_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "LOCK", lanes.LOCK.replace("AND lane.lease_id = mine.lease_id", ""))


def newest_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "HEADS", lanes.HEADS.replace("BY sequence", "BY sequence DESC"))


def without_leases(patch: pytest.MonkeyPatch) -> None:
    for name in ("SEARCH", "LEASE"):
        assert FREE in getattr(turns, name)
        patch.setattr(turns, name, getattr(turns, name).replace(FREE, ""))


# What a fault needs to show is drawn, and some draws never bring it about.
MOST_DRAWS = 20
# The database's own guards find some of it before the machine does.
FOUND = (AssertionError, IntegrityError)


@pytest.mark.proof
@pytest.mark.parametrize("plant", [without_the_fence, newest_first, without_leases])
def test_the_machine_finds_a_planted_fault(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)

    for number in range(1, MOST_DRAWS + 1):
        machine = seed(number)(type("OtherDraws", (Deliveries,), {}))
        try:
            run(150, Phase.generate, must_fire=frozenset(), machine=machine)
        except FOUND as found:
            print(f"{plant.__name__}: draw {number}: {found}")  # noqa: T201
            return
    pytest.fail(f"{MOST_DRAWS} draws of 150 examples did not find it")
