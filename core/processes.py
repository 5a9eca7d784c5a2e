"""Processes of this machine: a name for each, and whether the bearer of a name has ended.

Rows keep the name of the process that works on them. A number alone is no name: it is given again
to another process, after a restart of the machine or of a container even at once.
"""

import os
from functools import cache
from pathlib import Path

NAME_MAX = 80
PROC = Path("/proc")
# A process that was killed, and that its parent has not buried yet.
OVER = "ZX"


def own_name() -> str:
    """Return the name of this process; empty where the system does not say enough."""
    return _name_of(os.getpid())  # Asked each time: a web worker is forked from one that was named.


def has_ended(name: str) -> bool:
    """Return whether the process of a name is known to be gone.

    One of another machine or container is never known to be: it cannot be seen from here.
    """
    place, _, number_and_start = name.partition(" ")
    number, _, start = number_and_start.partition(" ")
    if not start or place != _place():
        return False
    return _start_of(int(number)) != start


@cache
def _name_of(number: int) -> str:
    place, start = _place(), _start_of(number)
    return f"{place} {number} {start}" if place and start else ""


def _place() -> str:
    """Return where numbers of processes mean the same: the machine's run, and the container."""
    try:
        run = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{run}/{os.stat(PROC / 'self/ns/pid').st_ino}"
    except OSError:
        return ""


def _start_of(number: int) -> str | None:
    """Return when a process began, in ticks since the machine did; None if there is no such one."""
    try:
        told = (PROC / str(number) / "stat").read_text()
    except OSError:
        return None
    # The command's name, in brackets, may hold blanks and brackets itself (man 5 proc_pid_stat).
    state, *fields = told.rpartition(")")[2].split()
    return None if state in OVER else fields[18]
