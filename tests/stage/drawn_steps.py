"""State machines whose steps are drawn; whether a draw comes to everything is luck.

Hypothesis also draws numbers and texts that it finds in the modules that are loaded: so a seed
draws the same only where the same tests were collected.
"""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

# One in two draws comes to nearly everything: so many that do not are no bad luck.
DRAWS_MAX = 10


def draw(
    machine: type[RuleBasedStateMachine],
    examples: int,
    *phases: Phase,
    steps: int,
    draws: object,
) -> None:
    """Let a machine take drawn steps, in so many examples.

    :param phases: of Hypothesis; by default it makes a failing example smaller.
    :param steps: of an example, at most.
    :param draws: the seed.
    """
    run_state_machine_as_test(
        seed(draws)(type("Drawn", (machine,), {})),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            phases=phases or (Phase.generate, Phase.shrink),
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )


def draw_until(
    is_enough: Callable[[], bool],
    machine: type[RuleBasedStateMachine],
    examples: int,
    *phases: Phase,
    steps: int,
    draws: object,
) -> int:
    """Draw again, with another seed each time, until enough has happened; return all examples.

    :raises AssertionError: it never happens.
    """
    for turn in range(DRAWS_MAX):
        again = f"{draws} again {turn}" if turn else draws
        draw(machine, examples, *phases, steps=steps, draws=again)
        if is_enough():
            return examples * (turn + 1)
    raise AssertionError(f"{examples * DRAWS_MAX} examples did not come to enough")
