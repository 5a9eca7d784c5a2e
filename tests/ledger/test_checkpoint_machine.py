"""Writers and checkpoint runs in any order: no entry is lost from a sum, and none counts twice."""

from collections import Counter
from collections.abc import Callable, Set

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ledger import checkpoints, sums
from tests.stage.checkpoint_machine import KINDS, Checkpoints
from tests.stage.lengths import SEED, length, tried

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    pytest.mark.timeout(1800),
]


def run(examples: int, *, must_fire: Set[str] = frozenset()) -> None:
    """Run the machine and print how often each rule did something."""
    Checkpoints.fired = Counter()
    run_state_machine_as_test(
        seed(SEED)(type("Drawn", (Checkpoints,), {})),
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )
    print(f"{examples} examples: {dict(Checkpoints.fired)}")  # noqa: T201
    assert must_fire - {kind for kind, times in Checkpoints.fired.items() if times} == set()


@pytest.mark.proof(part="ledger")
def test_sums_are_right_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 3)
    examples = length(short=12, full=250)

    run(examples, must_fire=KINDS)

    tried(examples, "interleavings of writers and checkpoint runs")


# --- The machine finds what it is there for -----------------------------------------------------


def without_waiting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoints, "SAFE", "SELECT next FROM ledger_boundary")


def the_last_entry_added_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoints, "HOLD", checkpoints.HOLD.replace("reached", "reached - 1", 1))
    again = checkpoints.ADD.replace("WHERE chunk.id > coalesce(before.boundary, 0)", "")
    patch.setattr(checkpoints, "ADD", again)


def without_what_is_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sums, "_behind", lambda _merchant, boundaries: dict.fromkeys(boundaries, 0))


@pytest.mark.proof(part="ledger")
@pytest.mark.parametrize(
    "plant", [without_waiting, the_last_entry_added_again, without_what_is_behind]
)
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises(AssertionError):
        run(50)
