"""Runs that count days, each killed at another of their statements, before it or just after it.

Run as a process of its own, which forks them: `python -m tests.stage.deadly_count MERCHANT STEP`.
After each, the audit compares the days that were left behind. The merchant's days are forgotten
before each run, so that there is something to count; late changes are left to the first run that
gets so far. It ends with the first run that no kill has met, and prints how many were killed.

STEP is 1 for every place, or an odd number for one of so many.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import django

django.setup()

from django.db import connection  # noqa: E402

from audit import counted_days as check  # noqa: E402
from payments.intents import counted_days  # noqa: E402
from payments.intents.models import CountedDay, CountedMerchant  # noqa: E402


def main(merchant_id: str, step: int) -> None:
    for number in count(0, step):
        forked(partial(forget, merchant_id))
        end = forked(partial(die_in_a_run, number // 2, afterwards=number % 2 == 1))
        forked(compare)
        if not os.WIFSIGNALED(end):
            break
    assert end == 0
    print(number // step)  # noqa: T201


def forked(work: Callable[[], None]) -> int:
    """Work in a process of its own, as no connection survives a fork; return how it ended."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            if status:
                traceback.print_exc()
            os._exit(status)
    end = os.waitpid(child, 0)[1]
    if os.WIFEXITED(end) and os.WEXITSTATUS(end):
        sys.exit("a child failed")
    return end


def forget(merchant_id: str) -> None:
    CountedDay.objects.filter(merchant=merchant_id).delete()
    CountedMerchant.objects.filter(merchant=merchant_id).delete()


def die_in_a_run(last: int, *, afterwards: bool) -> None:
    seen = -1

    def die(execute: Callable[..., Any], *statement: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == last and not afterwards:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = execute(*statement)
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    with connection.execute_wrapper(die):
        counted_days.count_due()


def compare() -> None:
    found = check.check()
    assert not found.differences, found.differences


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
