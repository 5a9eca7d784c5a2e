"""Looks of settlement that are killed at each of their commits, two of them beside each other.

Run as a process of its own, which forks them: `python -m tests.stage.deadly_settlement`. It ends
once a look finds nothing due any more, and prints how many were killed.
"""

import os
import signal
import sys
from itertools import count

import django

django.setup()

from core import context  # noqa: E402
from ledger import agenda, settlement  # noqa: E402
from ledger.agenda import Pot  # noqa: E402

# A look dies at one of so many commits, before it or just after it.
COMMITS = 4
NOTHING_DUE, STILL_DUE = 0, 1
SIDE_BY_SIDE = 2


def main() -> None:
    killed = 0
    for number in count():
        ends = looks(number)
        killed += sum(os.WIFSIGNALED(end) for end in ends)
        if all(os.WIFEXITED(end) and os.WEXITSTATUS(end) == NOTHING_DUE for end in ends):
            break
    print(killed)  # noqa: T201


def looks(number: int) -> list[int]:
    """Fork looks beside each other, and return how they ended."""
    children = [fork(number * SIDE_BY_SIDE + one) for one in range(SIDE_BY_SIDE)]
    return [os.waitpid(child, 0)[1] for child in children]


def fork(number: int) -> int:
    child = os.fork()
    if child == 0:
        os._exit(look(number))
    return child


def look(number: int) -> int:
    """Look once, and die at a commit; the parent has no connection that this could share."""
    agenda.PATIENCE_SECONDS = settlement.PATIENCE_SECONDS = 0.05
    die_at(number // 2 % COMMITS + 1, afterwards=number % 2 == 1)
    with context.work():
        runs = settlement.settle_due(job="ledger.tasks.settle_due")
    return STILL_DUE if runs else NOTHING_DUE


def die_at(last: int, *, afterwards: bool) -> None:
    """Let this process be killed at a settlement's commit, before it or just after it."""
    seen = 0
    real = settlement._settle_if_free
    plan = agenda.plan

    def count_and_settle(*arguments: object) -> bool:
        before = seen
        is_settled = real(*arguments)  # type: ignore[arg-type]
        if afterwards and before < seen == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return is_settled

    def plan_and_die(pot: Pot, run: object) -> None:
        # Only of those that it holds: one that another look holds is left to that one.
        nonlocal seen
        seen += 1
        plan(pot, run)  # type: ignore[arg-type]
        if not afterwards and seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

    settlement._settle_if_free, agenda.plan = count_and_settle, plan_and_die


if __name__ == "__main__":
    sys.exit(main())
