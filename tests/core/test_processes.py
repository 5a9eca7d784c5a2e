"""Names of processes: whether the one that a row names is still there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from core import processes

SAYS_ITS_NAME = "from core import processes; print(processes.own_name(), flush=True); input()"


def child() -> tuple[subprocess.Popen[str], str]:
    """Start a process that waits, and return it with the name that it has for itself."""
    started = subprocess.Popen(
        [sys.executable, "-c", SAYS_ITS_NAME],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert started.stdout is not None
    return started, started.stdout.readline().strip()


def test_a_process_that_was_killed_has_ended_also_before_its_parent_asks() -> None:
    process, name = child()
    assert not processes.has_ended(name)

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert processes.has_ended(name)
    process.communicate()
    assert processes.has_ended(name)


def test_a_name_fits_its_column_and_is_another_in_a_fork() -> None:
    process, name = child()
    process.communicate("")

    assert 0 < len(name) <= processes.NAME_MAX
    assert name != processes.own_name()
    assert not processes.has_ended(processes.own_name())


def with_another_start(name: str) -> str:
    return name.rpartition(" ")[0] + " 1"


def elsewhere(name: str) -> str:
    return "x" + with_another_start(name)


@pytest.mark.parametrize(
    ("changed", "is_over"),
    [(with_another_start, True), (elsewhere, False), (lambda _name: "", False)],
    ids=["its number is another's now", "in another container", "unknown"],
)
def test_a_name_is_more_than_a_number(changed: Callable[[str], str], is_over: bool) -> None:
    assert processes.has_ended(changed(processes.own_name())) is is_over


def test_a_system_that_tells_nothing_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    name = processes.own_name()
    monkeypatch.setattr(processes, "PROC", Path("/nowhere"))
    processes._name_of.cache_clear()

    assert (processes.own_name(), processes.has_ended(name)) == ("", False)
    processes._name_of.cache_clear()
