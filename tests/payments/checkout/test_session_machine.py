"""Sessions beside presses, API calls, returns, clock, jobs and kills, in any order (I3, I5, I7)."""

from collections import Counter
from collections.abc import Callable, Set

import pytest
from django.db import DatabaseError
from hypothesis import Phase

from payments.checkout import following, paying
from tests.stage.checkout_machine import RULES, Checkouts
from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, length, tried

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.timeout(1800),
]


def run(examples: int, *, steps: int, must_fire: Set[str] = frozenset()) -> int:
    """Run the machine until each rule did something; print how often, return the examples."""
    Checkouts.fired = Counter()
    drawn = draw_until(
        lambda: must_fire - set(Checkouts.fired),
        Checkouts, examples, Phase.generate, steps=steps, draws=SEED,
    )  # fmt: skip
    print(f"{drawn} examples: {dict(sorted(Checkouts.fired.items()))}")  # noqa: T201
    return drawn


@pytest.mark.proof(part="money")
def test_sessions_and_payments_agree_whatever_happens() -> None:
    examples = run(
        length(short=3, full=60),
        steps=length(short=15, full=30),
        must_fire=length(short=frozenset({"charged"}), full=RULES),
    )

    tried(examples, "shops whose payers press")


# --- The machine finds what it is there for -----------------------------------------------------


def a_session_does_not_follow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(following, "_open_session", lambda _intent: None)


def the_amount_is_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(paying, "_agree", lambda *_: lambda _intent: None)
    patch.setattr("payments.checkout.steps._has_changed", lambda *_: False)


@pytest.mark.proof(part="money")
@pytest.mark.planted
@pytest.mark.parametrize("plant", [a_session_does_not_follow, the_amount_is_not_compared])
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises((AssertionError, DatabaseError)) as found:
        run(50, steps=20)
    print(f"{plant.__name__}: {str(found.value)[:300]}")  # noqa: T201
