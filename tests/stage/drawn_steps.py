"""State machines whose steps are drawn; whether a draw comes to everything is luck.

Hypothesis also draws numbers and texts that it finds in the modules that are loaded: so a seed
draws the same only where the same tests were collected.
"""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

# Examples of one seed resemble each other: what one does not come to, the next ones rarely do.
OF_A_SEED = 25
# So many times the examples that were asked for, and still not enough, are no bad luck.
TIMES_MAX = 10


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
    lacking: Callable[[], object],
    machine: type[RuleBasedStateMachine],
    examples: int,
    *phases: Phase,
    steps: int,
    draws: object,
) -> int:
    """Draw so many examples, and more until enough has happened; return how many were drawn.

    :param lacking: returns what has not happened so far; nothing, or 0, when that is enough.
    :param draws: the first seed; every few examples have one of their own.
    :raises AssertionError: it never happens.
    """
    portion, drawn = min(examples, OF_A_SEED), 0
    while drawn < examples or lacking():
        assert drawn < examples * TIMES_MAX, f"{drawn} examples never came to {lacking()}"
        draw(machine, portion, *phases, steps=steps, draws=f"{draws} {drawn}" if drawn else draws)
        drawn += portion
    return drawn
