"""Writers and checkpoint runs in any order: no entry is lost from a sum, and none counts twice."""

from collections import Counter
from collections.abc import Callable, Set

import pytest
from hypothesis import Phase

from ledger import checkpoints, sums
from tests.stage.checkpoint_machine import KINDS, Checkpoints
from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, length, tried

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    pytest.mark.timeout(1800),
]


def run(examples: int, *, must_fire: Set[str] = frozenset()) -> int:
    """Run the machine until each rule did something; print how often, return the examples."""
    Checkpoints.fired = Counter()
    drawn = draw_until(
        lambda: must_fire - set(Checkpoints.fired),
        Checkpoints, examples, Phase.generate, steps=20, draws=SEED,
    )  # fmt: skip
    print(f"{drawn} examples: {dict(Checkpoints.fired)}")  # noqa: T201
    return drawn


@pytest.mark.proof(part="ledger")
def test_sums_are_right_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 3)

    examples = run(length(short=12, full=250), must_fire=KINDS)

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
@pytest.mark.planted
@pytest.mark.parametrize(
    "plant", [without_waiting, the_last_entry_added_again, without_what_is_behind]
)
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises(AssertionError):
        run(50)
