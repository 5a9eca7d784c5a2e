"""Money that goes to merchants and back: nothing appears twice, nothing vanishes (I2, I6, I7)."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stage.lengths import SEED, length, tried
from tests.stage.money_machine import Money
from tests.stage.money_stories import ENDINGS

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.timeout(3600),
]


def run(
    leads_to: str,
    examples: int,
    *phases: Phase,
    steps: int = 15,
    draws: int = SEED,
    of: type[Money] = Money,
) -> Counter[str]:
    """Run a machine; return how many examples came to each ending."""
    Money.fired, Money.reached = Counter(), Counter()
    machine = type("Drawn", (of,), {"leads_to": leads_to})
    run_state_machine_as_test(
        seed(f"{draws} {leads_to}")(machine),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            phases=phases or (Phase.generate, Phase.shrink),
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )
    print(f"{examples} examples came to {dict(machine.reached)}")  # noqa: T201
    print(f"their steps: {dict(machine.fired)}")  # noqa: T201
    return machine.reached


@pytest.mark.proof(part="money")
@pytest.mark.dear("five merchants whose money goes everywhere it can, each in up to 30 steps")
@pytest.mark.parametrize("ending", ENDINGS)
def test_all_books_agree_whatever_happens_to_money(ending: str) -> None:
    examples = length(short=5, full=25)

    reached = run(ending, examples)

    # About every second draw comes to its ending: so few of them are no seed's bad luck.
    assert reached[ending] >= length(short=1, full=5)
    tried(examples, f"merchants' money: {ending}")
