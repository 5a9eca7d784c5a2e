"""Commands that are killed by -9 at a step of their work with files.

A command runs in a fork of the test, which dies at the step: at each opening, renaming and
removing of a file in a directory, and on both sides of each write to the disk.
"""

import io
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections

STEPS = ("open", "os.rename", "os.remove")


def forked(
    *words: str, die_at: int = 0, near: Path | None = None, after: Path | None = None
) -> int:
    """Run a command in a fork; return its status, which is -9 if it died at a step.

    :param die_at: the number of the step, from 1; 0 for a command that lives.
    :param near: the directory whose files count.
    :param after: a file that is replaced: only steps from that on count.
    """
    connections.close_all()
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        if near:
            _die_at(die_at, near, after)
        call_command(*words, stdout=io.StringIO())
        status = 0
    except BaseException:  # noqa: BLE001  # Nothing of the test's may run in the fork.
        traceback.print_exc()
    finally:
        os._exit(status)


def _die_at(step: int, directory: Path, after: Path | None) -> None:
    left, fsync = [step], os.fsync
    before = after.stat().st_ino if after else None

    def count() -> None:
        if after and after.stat().st_ino == before:
            return
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in STEPS and str(arguments[0]).startswith(str(directory)):
            count()

    def watched(descriptor: int) -> None:
        count()
        fsync(descriptor)
        count()

    sys.addaudithook(watch)
    os.fsync = watched
