"""Commands that a signal breaks off at one of their steps; each runs in a fork of the test.

A step is a statement to the database, an opening, renaming or removing of a file next to the key
ring, or the moment behind a commit. The fork runs manage.py itself, and sends the signal to itself
before the step.
"""

import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connections

from devstack.state import ROOT

FILE_STEPS = ("open", "os.rename", "os.remove")


@dataclass(frozen=True)
class Ended:
    """The end of a command: its status is minus the signal's number if it died of one."""

    status: int
    out: str
    err: str


def begun(
    directory: Path, words: list[str], act: Callable[[], Any], *, step: int, given: str = ""
) -> int:
    """Run manage.py in a fork, which acts before the step; return its process id.

    :param step: counts from 1; 0 for none.
    :param given: the standard input.
    """
    (directory / "stdin").write_text(given)
    connections.close_all()
    if child := os.fork():
        return child
    status = 1
    try:
        _take_places(directory)
        _act_before(step, act, directory / "ring")
        sys.argv = ["manage.py", *words]
        runpy.run_path(str(ROOT / "manage.py"), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201
    except BaseException:  # noqa: BLE001  # Nothing of the test's may run in the fork.
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def ended(directory: Path, child: int) -> Ended:
    """Wait for the fork's end."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(status, (directory / "stdout").read_text(), (directory / "stderr").read_text())


def stopped(directory: Path, words: list[str], number: int, *, step: int, given: str = "") -> Ended:
    """Run the command, which sends the signal to itself before the step."""
    send = partial(signal.raise_signal, number)
    return ended(directory, begun(directory, words, send, step=step, given=given))


def sleep_in_the_database() -> None:
    """Run a statement that ends with its session alone."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_sleep(3600)")


def _take_places(directory: Path) -> None:
    """Give the fork the input, outputs and signals of a process that is started."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(directory / "stdin", os.O_RDONLY), 0)
    os.dup2(os.open(directory / "stdout", writing), 1)
    os.dup2(os.open(directory / "stderr", writing), 2)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115


def _act_before(step: int, act: Callable[[], Any], ring: Path) -> None:
    left = [step]

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    def statement(execute: Callable[..., Any], *call: Any) -> Any:
        count()
        return execute(*call)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_STEPS and str(arguments[0]).startswith(str(ring)):
            count()

    def committed() -> None:
        commit()
        count()

    database: Any = connections["default"]
    commit, database._commit = database._commit, committed
    database.execute_wrappers.append(statement)
    sys.addaudithook(watch)
