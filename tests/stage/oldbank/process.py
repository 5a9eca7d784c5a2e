"""The old bank as the tests hold it: started, killed, started again, told and asked."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from devstack.state import ROOT

PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the bank's book, amounts in minor units."""

    order_id: str
    terminal: str
    merchant: str
    kind: str
    state: str
    amount: int
    currency: str
    code: str
    refund_id: str


class OldBank:
    """One process of the bank, and its book, which is the same after a restart."""

    def __init__(self, directory: Path) -> None:
        self.directory, self._session = directory, requests.Session()
        self._session.trust_env = False
        self.port, self._offset_seconds = 0, 0.0
        self.start()

    @property
    def api_url(self) -> str:
        return f"{self._origin}/api"

    @property
    def gate_url(self) -> str:
        return f"{self._origin}/gate"

    def start(self) -> None:
        """Start the process, at the port that it had before."""
        command = [
            "-m",
            "tests.stage.oldbank.server",
            str(self.port),
            str(self.directory / "book.sqlite"),
        ]
        # Its standard input ends with this process, however that ends.
        self._process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().split()[-1])
        self._tell("clock", offset_seconds=self._offset_seconds)

    def kill(self) -> None:
        """End the process without a chance to write anything."""
        self._process.kill()
        self._process.wait()
        self.abandon()

    def abandon(self) -> None:
        """Let go of the process, as the end of the tests does."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._session.close()

    def ended(self) -> bool:
        """Wait for the process to end by itself."""
        return self._process.wait(PATIENCE_SECONDS) is not None

    def reset(self) -> None:
        """Empty the book, and forget clock, pace and misbehaviour."""
        self._offset_seconds = 0.0
        self._tell("reset")

    def move_clock(self, offset_seconds: float) -> None:
        """Set how far the bank's clock is ahead; a bank that is killed learns it at its start."""
        self._offset_seconds = offset_seconds
        if self._process.poll() is None:
            self._tell("clock", offset_seconds=offset_seconds)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every change in the air during the block; all are written at its end."""
        self._tell("hold")
        try:
            yield
        finally:
            self._tell("release")

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Undo at the end of the block whatever was written during it; rehearsals do not nest."""
        before = self._offset_seconds
        self._tell("remember")
        try:
            yield
        finally:
            self._tell("go_back")
            self._offset_seconds = before

    def await_lines(self, count: int = 1) -> None:
        """Return once so many lines are written."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.book()) < count:
            assert time.monotonic() < deadline, "the bank has not written"
            time.sleep(0.02)

    def take_time(self, *, works_seconds: float = 0.0, silence_seconds: float = 0.0) -> None:
        """Set how long a change takes, and how long a caller is kept who gets no answer."""
        self._tell("pace", works_seconds=works_seconds, silence_seconds=silence_seconds)

    def refund_after(self, *, days: int) -> None:
        """Let the bank refund what was captured only after so many ends of its days."""
        self._tell("refund_after", days=days)

    def misbehave(self, kind: str, *, on: str = "*", times: int = 1) -> None:
        """Let something go wrong with the next requests of a type (see `mischief`)."""
        self._tell("misbehave", kind=kind, on=on, times=times)

    def charge(self, number: str, *, terminal: str, order_id: str, merchant: str) -> None:
        """Charge a card 125.00 lira for an order that nobody asks for any more."""
        told = {"terminal": terminal, "order_id": order_id, "merchant": merchant}
        self._tell("charge", number=number, **told)

    def make_older(self, order_id: str, seconds: float) -> None:
        self._tell("older", order_id=order_id, seconds=seconds)

    def take_refunds_back(self) -> None:
        """Let the bank reverse each refund that it has done."""
        self._tell("take_refunds_back")

    def book(self, *order_ids: str) -> list[Line]:
        """Return the lines of these orders, or of all of them, the oldest first."""
        lines = self._tell("book", order_ids=order_ids)
        return [Line(**{name: line[name] for name in Line.__slots__}) for line in lines]

    def seen(self) -> list[tuple[str, str, str]]:
        """Return type, order and terminal of each request that the bank could read."""
        return [(kind, order_id, terminal) for kind, order_id, terminal in self._tell("seen")]

    @property
    def _origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _tell(self, verb: str, **told: Any) -> Any:
        url = f"{self._origin}/control/{verb}"
        answer = self._session.post(url, data=json.dumps(told), timeout=PATIENCE_SECONDS)
        answer.raise_for_status()
        return answer.json()
