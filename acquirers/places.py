"""Places at one acquirer: they limit the requests that wait for it, and merchants share them."""

from collections import Counter
from threading import Event, Lock


class Places:
    """A fixed number of places, shared by the merchants of one process.

    A place that comes free while requests wait goes to the first one whose merchant holds less
    than half of all places, and if there is none to the first request. A merchant that is alone
    may hold every place; once others come, it cannot keep them all.
    """

    def __init__(self, count: int) -> None:
        self._count, self._free = count, count
        self._held: Counter[str] = Counter()
        self._waiting: list[_Turn] = []
        self._lock = Lock()

    @property
    def in_use(self) -> int:
        return self._count - self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, merchant_id: str) -> bool:
        """Take a place that is free; False if there is none."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            self._held[merchant_id] += 1
            return True

    def wait(self, merchant_id: str, *, seconds: float, queue_max: int) -> bool:
        """Take a place, and wait for one if none is free; False if none came.

        :param seconds: the longest wait.
        :param queue_max: with this many waiting already, a request does not wait at all.
        """
        with self._lock:
            if not self._free and len(self._waiting) >= queue_max:
                return False
            turn = _Turn(merchant_id)
            self._waiting.append(turn)
            self._serve()
        turn.came.wait(seconds)
        with self._lock:
            if not turn.came.is_set():
                self._waiting.remove(turn)
            return turn.came.is_set()

    def give_back(self, merchant_id: str) -> None:
        """Give a place back; the request that is next in turn takes it."""
        with self._lock:
            self._held[merchant_id] -= 1
            self._free += 1
            self._serve()
            self._held += Counter()  # Forgets merchants that hold none.

    def _serve(self) -> None:
        while self._free and self._waiting:
            turn = self._next()
            self._waiting.remove(turn)
            self._free -= 1
            self._held[turn.merchant_id] += 1
            turn.came.set()

    def _next(self) -> "_Turn":
        below_half = (t for t in self._waiting if 2 * self._held[t.merchant_id] < self._count)
        return next(below_half, self._waiting[0])


class _Turn:
    """A request that waits; `came` is set once it has a place."""

    def __init__(self, merchant_id: str) -> None:
        self.merchant_id, self.came = merchant_id, Event()
