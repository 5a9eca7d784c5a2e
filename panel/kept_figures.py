"""Figures of merchants that a process works out once a minute."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import timedelta
from threading import Lock
from typing import Generic, TypeVar

from core import clock
from panel.patience import TookTooLong, limited

OLDEST = timedelta(minutes=1)
# Figures that a process keeps, those that were asked for last.
MOST = 500

Found = TypeVar("Found")


class KeptFigures(Generic[Found]):
    """Figures of one kind, at most a minute old.

    The clock is the movable one: figures of before it was moved are too old.
    """

    def __init__(self) -> None:
        # By key, when they were worked out (unix seconds), and the figures.
        self._kept: OrderedDict[Hashable, tuple[float, Found | None]] = OrderedDict()
        self._lock = Lock()

    def of(self, key: Hashable, read: Callable[[], Found], *, limit_ms: int) -> Found | None:
        """Return what `read` returns, or returned within the minute; None if it takes too long.

        :param key: of the figures; it has the merchant's id.
        :param limit_ms: of each statement.
        """
        now = clock.now().timestamp()
        with self._lock:
            known = self._kept.get(key)
        if known and 0 <= now - known[0] < OLDEST.total_seconds():
            return known[1]
        found = _read(read, limit_ms)
        with self._lock:
            self._kept[key] = (now, found)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return found

    def forget(self) -> None:
        """Let nothing be kept: tests change rows within the minute."""
        with self._lock:
            self._kept.clear()


def _read(read: Callable[[], Found], limit_ms: int) -> Found | None:
    try:
        with limited(limit_ms):
            return read()
    except TookTooLong:
        return None
