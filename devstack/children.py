"""The processes of one `up`: started, watched and stopped together."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, NoReturn

from devstack import processes, state
from devstack.console import pump
from devstack.state import ROOT, CannotContinue


class ChildEnded(Exception):
    """One process ended by itself, so the others are stopped; the text says which."""


class Children:
    def __init__(
        self,
        leash: processes.Leash,
        *,
        logs: Path | None = None,
        root: Path = ROOT,
    ) -> None:
        """Nothing is started yet.

        :param logs: the directory whose files get the processes' lines, not the terminal. Without
            it the terminal shows what a developer reads, and files of the state have every line.
        :param root: the directory of the code that they run.
        """
        self._root = root
        self._leash = leash
        self._logs = logs
        self._started: list[tuple[str, subprocess.Popen]] = []
        self._adopted: list[tuple[str, subprocess.Popen]] = []
        self._beside: list[subprocess.Popen] = []
        self._pumps: list[threading.Thread] = []

    def start(
        self,
        name: str,
        module: processes.Command,
        environment: dict[str, str],
        *,
        listener: socket.socket | None = None,
    ) -> None:
        """Run a Python module under the name that its lines are printed with.

        :param listener: the socket that it takes over, under the same number.
        """
        handed = [listener.fileno()] if listener else []
        self._started.append((name, self._spawn(name, module, environment, handed)))

    def start_beside(
        self, name: str, module: processes.Command, environment: dict[str, str]
    ) -> None:
        """Run a Python module that may end by itself, and well or not: the others go on."""
        self._beside.append(self._spawn(name, module, environment, []))

    def _spawn(
        self,
        name: str,
        module: processes.Command,
        environment: dict[str, str],
        handed: list[int],
    ) -> "subprocess.Popen[str]":
        with self._log(name) as log:
            process: subprocess.Popen[str] = processes.spawn(
                [sys.executable, "-m", *module],
                cwd=self._root,
                env=environment,
                text=True,
                errors="replace",
                stdout=log or subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=handed,
            )
        self._leash.hold(process)
        if process.stdout:
            self._pumps.append(pump(name, process.stdout, state.logs() / f"{name}.log"))
        return process

    def adopt(self, named: dict[str, subprocess.Popen]) -> None:
        """Watch processes that another launcher started and will stop: the servers."""
        for name, process in named.items():
            self._leash.hold(process)
            self._adopted.append((name, process))

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._started}

    def check(self) -> None:
        """:raises ChildEnded: not all are running."""
        for name, process in self._adopted + self._started:
            if process.poll() is not None:
                raise ChildEnded(f"{name} ended with status {process.returncode}")

    def watch(self) -> NoReturn:
        """:raises ChildEnded: sooner or later."""
        while True:
            self.check()
            time.sleep(0.2)

    def stop(self) -> None:
        processes.stop([*self._beside, *(process for _, process in self._started)])
        for thread in self._pumps:
            thread.join()

    def _log(self, name: str) -> AbstractContextManager[IO[bytes] | None]:
        return open(self._logs / f"{name}.log", "wb") if self._logs else nullcontext()


def begin(
    arguments: processes.Command, environment: dict[str, str], *, root: Path = ROOT
) -> "subprocess.Popen[str]":
    """Start a management command of the code in a directory."""
    return processes.spawn(
        [sys.executable, "manage.py", *arguments],
        cwd=root,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(command: "subprocess.Popen[str]") -> str:
    """Return what the command printed.

    :raises CannotContinue: it failed.
    """
    printed, complaint = command.communicate()
    if command.returncode:
        assert isinstance(command.args, list)  # As `spawn` gave it.
        spoken = " ".join(command.args[1:])
        raise CannotContinue(f"{spoken} failed:\n{printed}{complaint}".rstrip())
    return printed
