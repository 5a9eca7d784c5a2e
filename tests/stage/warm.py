"""Processes of the service that need not load what others have written: a start costs a third.

Python's own fork server has loaded that, and forks each of them; what is ours, and what asks for
settings, each loads by itself. Processes that a test is about start a Python of their own
(`tests.stage.processes.begin`).
"""

import atexit
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

from devstack.state import ROOT

FORK_SERVER = get_context("forkserver")
FORK_SERVER.set_forkserver_preload(["tests.stage.warm_modules"])
Files = tuple[Path, Path]
_ALONE = threading.Lock()


class Warm:
    """A process, with the methods of `subprocess.Popen` that tests use.

    :param arguments: as Python's: `-m MODULE …`, `-c CODE`, or a file's path.
    :param files: where its standard output and its errors are appended; one file can be both.
    """

    def __init__(self, *arguments: str, environment: Mapping[str, str], files: Files) -> None:
        given = (arguments, dict(environment), files)
        # Daemons alone are ended with a worker that forgets them.
        self._process = FORK_SERVER.Process(target=_become, args=given, daemon=True)
        with without_main():
            self._process.start()
        assert self._process.pid
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    poll = returncode.fget

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


@contextmanager
def without_main() -> Iterator[None]:
    """Hide the module that runs the tests, which the process would load, too.

    `patch.dict` would empty `sys.modules` for a moment: another thread that imports something then
    makes it a second time.
    """
    with _ALONE:
        ours = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = ours


def _become(arguments: tuple[str, ...], environment: dict[str, str], files: Files) -> None:
    os.chdir(ROOT)
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    # The tests' own has what pytest has added.
    sys.path[:] = [str(ROOT), *(place for place in sys.path if place not in ("", str(ROOT)))]
    try:
        _run(*arguments)
    finally:
        # As at the end of each Python: the fork server's processes leave this out.
        threading._shutdown()
        atexit._run_exitfuncs()


def _run(first: str, *others: str) -> None:
    match first:
        case "-m":
            sys.argv = list(others)
            runpy.run_module(others[0], run_name="__main__", alter_sys=True)
        case "-c":
            sys.argv = ["-c", *others[1:]]
            exec(others[0], {"__name__": "__main__"})  # noqa: S102 - As `python -c` does.
        case _:
            sys.argv = [first, *others]
            runpy.run_path(first, run_name="__main__")
