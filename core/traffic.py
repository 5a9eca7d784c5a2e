"""Traffic of this process with banks: one line of the log each minute.

A minute without traffic writes no line. Imports nothing of Django: the web
server counts here too, before there is a request.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import Any

import structlog

MINUTE_SECONDS = 60.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _AtAcquirer:
    slots_in_use_max: int = 0
    refused_by_slot: int = 0
    seconds: list[float] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {
            "slots_in_use_max": self.slots_in_use_max,
            "refused_by_slot": self.refused_by_slot,
            "asked": len(self.seconds),
            "p50_ms": _percentile_ms(self.seconds, 0.50),
            "p99_ms": _percentile_ms(self.seconds, 0.99),
        }


class Traffic:
    """Counts a minute at a time; the first thing that happens in a minute begins it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._acquirers: dict[str, _AtAcquirer] = defaultdict(_AtAcquirer)
        self._refused_by_age = 0
        self._timer: Timer | None = None

    def slot_taken(self, acquirer: str, *, in_use: int) -> None:
        """Count a place at an acquirer; `in_use` are those taken now, this one too."""
        with self._lock:
            counted = self._of(acquirer)
            counted.slots_in_use_max = max(counted.slots_in_use_max, in_use)

    def refused_by_slot(self, acquirer: str) -> None:
        """Count a request that found no place at its acquirer."""
        with self._lock:
            self._of(acquirer).refused_by_slot += 1

    def refused_by_age(self) -> None:
        """Count a request that had waited too long for a thread."""
        with self._lock:
            self._await_end()
            self._refused_by_age += 1

    def answered(self, acquirer: str, *, seconds: float) -> None:
        """Count a question to an acquirer, however it ended, and how long it took."""
        with self._lock:
            self._of(acquirer).seconds.append(seconds)

    def tell(self) -> None:
        """Write the counts in one line, if anything was counted, and begin again at 0."""
        with self._lock:
            if self._timer is None:
                return
            self._timer.cancel()  # Does nothing to the one that calls this.
            acquirers, refused_by_age = self._acquirers, self._refused_by_age
            self._begin()
        log.info(
            "acquirer_traffic",
            refused_by_age=refused_by_age,
            acquirers={name: counted.shown() for name, counted in acquirers.items()},
        )

    def _of(self, acquirer: str) -> _AtAcquirer:
        self._await_end()
        return self._acquirers[acquirer]

    def _await_end(self) -> None:
        if self._timer is None:
            self._timer = Timer(MINUTE_SECONDS, self.tell)
            self._timer.daemon = True  # It keeps no process from its end.
            self._timer.start()


def _percentile_ms(seconds: list[float], share: float) -> int | None:
    """Return the smallest that is not below this share of them, in ms; None of none."""
    if not seconds:
        return None
    return round(sorted(seconds)[math.ceil(share * len(seconds)) - 1] * 1000)


traffic = Traffic()
