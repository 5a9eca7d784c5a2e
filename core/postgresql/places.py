"""Places at shared connections: writers leave some of them to requests that only read."""

from collections import deque
from threading import Event, Lock


class Places:
    """A number of places, given to waiting threads in turn, to urgent ones before the others.

    A pool's own queue would not do: a thread that stops waiting to look up begins again at its end.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._urgent: deque[Event] = deque()
        self._others: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        return len(self._urgent) + len(self._others)

    def take(self, *, is_urgent: bool, seconds: float) -> bool:
        """Take a place, waited for so long; False if none came free."""
        queue = self._urgent if is_urgent else self._others
        with self._lock:
            if self._free:  # Nobody waits for it: whoever waited has it already.
                self._free -= 1
                return True
            turn = Event()
            queue.append(turn)
        turn.wait(seconds)
        with self._lock:
            if not turn.is_set():
                queue.remove(turn)
            return turn.is_set()

    def give_back(self) -> None:
        with self._lock:
            self._free += 1
            self._serve()

    def _serve(self) -> None:
        while self._free and (queue := self._urgent or self._others):
            self._free -= 1
            queue.popleft().set()
