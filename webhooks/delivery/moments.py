"""Moments by two clocks, because each may stand still while the machine sleeps."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of real time; its age is the greater one of the two clocks."""

    steady: float
    wall: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.monotonic(), time.time())

    @property
    def age_seconds(self) -> float:
        return max(time.monotonic() - self.steady, time.time() - self.wall)
