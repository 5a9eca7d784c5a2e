"""The whole service as `./dev up` starts it, in a state directory of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import requests

from devstack.demo import status_of
from devstack.state import ROOT
from tests.stage.own_ports import own_ports

START_PATIENCE_SECONDS = 300
# The tests' own servers: the service shall start its own.
NOT_INHERITED = {"DATABASE_URL", "BANK_DATABASE_URL", "REDIS_URL", "PORT", "BANK_PORT"}


class RunningService:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.log = state.with_name("up.log")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in NOT_INHERITED},
            **own_ports("PORT", "BANK_PORT"),
            "DEV_STATE": str(state),
        }
        self.launcher: subprocess.Popen | None = None

    @property
    def demo(self) -> dict[str, str]:
        return json.loads((self.state / "demo.json").read_text())

    @property
    def base_url(self) -> str:
        return self.demo["base_url"]

    @property
    def key(self) -> str:
        return self.demo["secret_key"]

    def answers(self) -> bool:
        return status_of(f"{self.base_url}/healthz") == 200

    def start(self) -> None:
        with open(self.log, "w") as log:
            self.launcher = subprocess.Popen(
                [sys.executable, "-m", "devstack.up"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        while "Ready after" not in self.log.read_text():
            assert self.launcher.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> int:
        """End it as Ctrl-C does; return its exit status."""
        return self._end(signal.SIGINT)

    def kill(self) -> int:
        """End the launcher without a chance to stop anything."""
        return self._end(signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        return self.launcher.wait(seconds)

    def first_payment(self) -> dict:
        """Run the printed command as a newcomer would; return the payment."""
        curl = ["sh", "-c", self.demo["curl"]]
        return json.loads(subprocess.run(curl, capture_output=True, check=True, timeout=30).stdout)

    def get(self, path: str) -> dict:
        headers = {"Authorization": f"Bearer {self.key}"}
        return requests.get(self.base_url + path, headers=headers, timeout=10).json()

    def post(self, path: str) -> dict:
        headers = {"Authorization": f"Bearer {self.key}"}
        return requests.post(self.base_url + path, headers=headers, timeout=10).json()

    def call(self, command: str, *arguments: str) -> subprocess.CompletedProcess:
        """Run another command of `./dev` in the same state directory."""
        return subprocess.run(
            [sys.executable, "-m", f"devstack.{command}", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def processes(self) -> list[psutil.Process]:
        return psutil.Process(self.launcher.pid).children(recursive=True)

    def process(self, *words: str) -> psutil.Process:
        """Return the first process whose command line has all the words."""
        return next(p for p in self.processes() if all(word in p.cmdline() for word in words))

    def _end(self, number: int) -> int:
        self.launcher.send_signal(number)
        return self.launcher.wait(120)


def still_running(processes: list[psutil.Process], *, after_seconds: float) -> list[str]:
    """Return the command lines of those that are alive when the time is over."""
    deadline = time.monotonic() + after_seconds
    while (left := [p for p in processes if _is_alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [command for p in left if (command := _command(p))]


def _is_alive(process: psutil.Process) -> bool:
    # A zombie waits for a parent that may never ask; it runs nothing and holds nothing.
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False  # It ended while it was looked at.


def _command(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline()) or str(process)
    return ""
