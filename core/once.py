"""Objects of which a process has one: those that count, or that keep connections.

`functools.cache` lets threads that meet at the first call make one each, and gives each its own:
what the one counts the other does not know.
"""

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 (a decorator, as `functools.cache`)
    """Let a function that makes an object be called once for the same arguments, by one thread.

    A call that raises is not remembered: the next one makes the object.
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._made: dict[tuple[Hashable, ...], T] = {}
        # Of one thread that comes back: what makes an object may ask for another.
        self._lock = RLock()

    def __call__(self, *args: Hashable) -> T:
        try:
            return self._made[args]
        except KeyError:
            return self._first(args)

    def cache_clear(self) -> None:
        """Forget the value; the next call makes it again."""
        self._made.clear()

    def _first(self, args: tuple[Hashable, ...]) -> T:
        with self._lock:
            if args not in self._made:
                self._made[args] = self._make(*args)
            return self._made[args]
