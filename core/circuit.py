"""A circuit around something that may be away: after a few failures, callers are refused at once.

Ours and not a library's: pybreaker holds one lock while the guarded call runs, so that
one silent command would make every other thread of the process wait.
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import structlog

from core.metrics import Counter, Gauge, Label

OPENED = Counter(
    "pay_circuit_opened_total", "Times that a circuit opened.", circuit=Label("redis", "standby")
)
IS_OPEN = Gauge(
    "pay_circuit_open",
    "Processes whose circuit is open: they ask nothing.",
    circuit=Label("redis", "standby"),
)

T = TypeVar("T")
log = structlog.get_logger(__name__)


class CircuitOpen(Exception):
    """The circuit is open; nothing was tried."""


class Circuit:
    """Closed until a number of calls in a row fail, then open; one probe at a time decides.

    :param failure: the exception that counts; any other says nothing about the guarded thing.
    :param seconds: how long it stays open before a probe (real time).
    """

    def __init__(self, name: str, *, failure: type[Exception], times: int, seconds: float) -> None:
        self._name, self._failure = name, failure
        self._times, self._seconds = times, seconds
        self._lock = Lock()
        self._failures = 0
        self._open_until: float | None = None
        # Calls remember their turn: one that began before the circuit opened decides no more.
        self._turn = 0

    def call(self, work: Callable[[], T]) -> T:
        """Do the work, unless the circuit is open.

        :raises CircuitOpen: it is.
        """
        turn = self._enter()
        try:
            answer = work()
        except self._failure as problem:
            self._failed(turn, problem)
            raise
        self._succeeded(turn)
        return answer

    def _enter(self) -> int:
        with self._lock:
            if self._open_until is not None:
                now = time.monotonic()
                if now < self._open_until:
                    raise CircuitOpen
                # This call is the probe. Should it never report back, another goes later.
                self._open_until = now + self._seconds
                self._turn += 1
            return self._turn

    def _failed(self, turn: int, problem: Exception) -> None:
        with self._lock:
            if turn != self._turn:
                return
            self._failures += 1
            if self._open_until is not None or self._failures < self._times:
                return
            self._open_until = time.monotonic() + self._seconds
            self._turn += 1
        OPENED.count(self._name)
        IS_OPEN.set(1, self._name)
        # The class alone: a server's refusal quotes the command.
        log.warning("circuit_opened", circuit=self._name, reason=type(problem).__name__)

    def _succeeded(self, turn: int) -> None:
        with self._lock:
            if turn != self._turn:
                return
            was_open = self._open_until is not None
            self._failures, self._open_until = 0, None
        if was_open:
            IS_OPEN.set(0, self._name)
            log.warning("circuit_closed", circuit=self._name)
