"""Money that goes to merchants and back: nothing appears twice, nothing vanishes (I2, I6, I7)."""

from collections import Counter

import pytest
from hypothesis import Phase

from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, length, tried
from tests.stage.money_machine import Money
from tests.stage.money_stories import ENDINGS, refused_behind_a_dispute
from tests.stage.money_world import Terms

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
    enough: int = 0,
) -> int:
    """Run a machine until enough examples came to an ending; return how many there were."""
    Money.fired, Money.reached = Counter(), Counter()
    machine = type("Drawn", (of,), {"leads_to": leads_to})
    seed = f"{draws} {leads_to}"
    drawn = draw_until(
        lambda: max(0, enough - machine.reached[leads_to]),
        machine, examples, *phases, steps=steps, draws=seed,
    )  # fmt: skip
    print(f"{drawn} examples came to {dict(machine.reached)}")  # noqa: T201
    print(f"their steps: {dict(machine.fired)}")  # noqa: T201
    return drawn


@pytest.mark.proof(part="money")
@pytest.mark.dear("five merchants whose money goes everywhere it can, each in up to 30 steps")
@pytest.mark.parametrize("ending", ENDINGS)
def test_all_books_agree_whatever_happens_to_money(ending: str) -> None:
    examples = run(ending, length(short=2, full=25), enough=length(short=1, full=5))

    tried(examples, f"merchants' money: {ending}")


def test_all_books_agree_when_a_refund_is_refused_behind_a_dispute() -> None:
    machine = Money()
    machine.world.open(negative_limit=0, parts=3)
    machine.world.agree(Terms(250))
    machine.stories = [refused_behind_a_dispute(machine.world)]
    Money.reached = Counter()

    machine.teardown()  # It tells the story, and holds the books against each other.

    assert Money.reached.keys() >= {"refund failed", "lost"}
