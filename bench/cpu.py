"""CPU time and memory of processes: figures that a busy machine blurs far less than a rate."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
# Positions after the name of the program, which may have spaces in it (man proc_pid_stat).
PARENT = 1
TICKS = slice(11, 15)  # Its own, of the user and of the system, and of the children it had.
PAGES = 21  # That it has in memory.
MIB_OF_A_PAGE = os.sysconf("SC_PAGE_SIZE") / 2**20


def taken_ms(pids: Mapping[str, int]) -> Counter[str]:
    """Return the CPU time of each process and its children since they began.

    Empty where there is no /proc. A child that ends between its parent's reading and its own is
    missed once, and is in its parent's count the next time: of two readings the higher is right.
    """
    return _taken_ms(pids) | _taken_ms(pids)


def _taken_ms(pids: Mapping[str, int]) -> Counter[str]:
    taken: Counter[str] = Counter()
    for name, facts in _facts(pids):
        taken[name] += round(sum(map(int, facts[TICKS])) * TICK_MS)
    return taken


def memory_mib(pids: Mapping[str, int]) -> Counter[str]:
    """Return the memory of each process, or of that of its children which has most.

    Empty where there is no /proc.
    """
    most: Counter[str] = Counter()
    for name, facts in _facts(pids):
        most[name] = max(most[name], round(int(facts[PAGES]) * MIB_OF_A_PAGE))
    return most


def _facts(pids: Mapping[str, int]) -> Iterator[tuple[str, list[str]]]:
    """Yield the state of each process and of its children, with its name."""
    names = {pid: name for name, pid in pids.items()}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # It ended a moment ago.
            facts = file.read_text().rpartition(")")[2].split()
            name = names.get(int(file.parent.name)) or names.get(int(facts[PARENT]))
            if name:
                yield name, facts


def cpu_of_each(before: Counter[str], after: Counter[str], times: int) -> Counter[str]:
    """Return what each of so many equal pieces of work took of each process, in ms."""
    return Counter({name: taken / times for name, taken in (after - before).items()})
