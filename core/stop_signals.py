"""Signals that end a command: it breaks off as by Ctrl-C, says so in one sentence, and dies of it.

Without this SIGTERM, SIGHUP and SIGQUIT end a command at once. Then its statement goes on in the
database, a terminal that was asked for a secret stays silent, and printed lines are lost.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

# Signals that people, terminals and supervisors send.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

Answer = Callable[[int, FrameType | None], Any] | signal.Handlers


class Stopped(KeyboardInterrupt):
    """A signal ends the command; psycopg cancels the statement that runs, as by Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ending_in_one_sentence() -> Iterator[None]:
    """Break the block off at the first signal; the next one ends the process at once."""
    _answer_by(_stop)
    try:
        try:
            yield
        finally:
            _print_all()
            _answer_by(signal.SIG_DFL)
    except Stopped as stopped:
        _die_of(stopped.number)


def go_to_the_end() -> None:
    """Let the first signal from now on change nothing: the command is about to be done.

    For a secret that is shown once, and for a change of a file and of the database. Where
    manage.py does not run the command, signals are left alone.
    """
    if signal.getsignal(signal.SIGTERM) is _stop:
        _answer_by(_overlook)


def _answer_by(answer: Answer) -> None:
    for number in STOP_SIGNALS:
        # One that is ignored stays so: nohup, and jobs in the background of a script.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, answer)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    _answer_by(signal.SIG_DFL)
    raise Stopped(number)


def _overlook(_number: int, _frame: FrameType | None) -> None:
    _answer_by(signal.SIG_DFL)


def _die_of(number: int) -> NoReturn:
    """End by the signal itself, so that shells and supervisors see it; SIGQUIT would write a core.

    A core has keys in it. The first process of a container does not die of its own signal.
    """
    name = signal.Signals(number).name
    # A terminal may show a question, or ^C.
    begin = "\n" if sys.stderr.isatty() or sys.stdin.isatty() else ""
    with suppress(OSError):
        sys.stderr.write(f"{begin}Ended by {name} before it was done: run it again.\n")
    _print_all()
    if number != signal.SIGQUIT:
        os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _print_all() -> None:
    for output in (sys.stdout, sys.stderr):
        with suppress(OSError):  # Its reader is gone.
            output.flush()
