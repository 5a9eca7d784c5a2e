"""`./dev bench --beside COMMIT`: this checkout's service and another version's, in turns."""

from bench import opening, turns
from bench.load import LoadTerms
from bench.report import Figures
from bench.stage import Stage
from bench.turns import Shop
from devstack.console import say

NAMES = ("here", "there")


def measure(stage: Stage, terms: LoadTerms, commit: str) -> Figures:
    """Measure this service and that of another commit in turns, on servers of its own.

    It runs with the packages that are installed here.

    :raises CannotContinue: there is no such commit, or an answer of one of them was wrong.
    """
    with opening.code_of(commit) as root, opening.stage_beside(stage.leash, root) as there:
        say("bench", f"here beside {commit}, {terms.rounds or turns.ROUNDS} rounds")
        ours, theirs = (Shop(one, one.open_merchant()["secret_key"]) for one in (stage, there))
        return turns.measure(ours, theirs, terms, names=NAMES)


def table(figures: Figures) -> str:
    heading = "{clients} clients, {rounds} rounds of {seconds} s each; {cores} cores".format(
        **figures
    )
    return turns.table(figures, names=NAMES, heading=heading)
