"""Celery's workers, each forked from one process that has loaded what they need."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from devstack.state import ROOT
from tests.stage.web_process import environment

# A hang is ended after this.
PATIENCE_SECONDS = 200


class Forks:
    """A process that forks workers: one of its own for each test would load the modules again."""

    def __init__(self, **settings: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stage.forking"],
            cwd=ROOT,
            env={**environment(), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._asked, self._answers = self._process.stdin, self._process.stdout

    def worker(self, log: Path, *arguments: str) -> psutil.Process:
        """Return a worker that has these arguments of Celery's and writes to the log."""
        print(json.dumps([str(log), *arguments]), file=self._asked, flush=True)  # noqa: T201
        return psutil.Process(int(self._answers.readline()))

    def end(self, worker: psutil.Process) -> None:
        """Stop a worker, then kill what is left of its group: its beat may outlive it."""
        with suppress(psutil.NoSuchProcess):  # It has died by itself.
            worker.terminate()
        worker.wait(PATIENCE_SECONDS)
        with suppress(ProcessLookupError):  # Nothing is left.
            os.killpg(worker.pid, signal.SIGKILL)

    def stop(self) -> None:
        self._asked.close()
        self._process.wait(PATIENCE_SECONDS)
        self._answers.close()
