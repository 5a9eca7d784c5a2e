"""CPU time that processes took: a figure that a busy machine blurs far less than a rate."""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
# Positions after the name of the program, which may have spaces in it (man proc_pid_stat).
PARENT = 1
TICKS = slice(11, 15)  # Its own, of the user and of the system, and of the children it had.


def taken_ms(pids: Mapping[str, int]) -> Counter[str]:
    """Return the CPU time of each process and its children since they began.

    Empty where there is no /proc.
    """
    names = {pid: name for name, pid in pids.items()}
    taken: Counter[str] = Counter()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # It ended a moment ago.
            facts = file.read_text().rpartition(")")[2].split()
            name = names.get(int(file.parent.name)) or names.get(int(facts[PARENT]))
            if name:
                taken[name] += round(sum(map(int, facts[TICKS])) * TICK_MS)
    return taken


def cpu_of_each(before: Counter[str], after: Counter[str], times: int) -> Counter[str]:
    """Return what each of so many equal pieces of work took of each process, in ms."""
    return Counter({name: taken / times for name, taken in (after - before).items()})
