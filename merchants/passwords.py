"""Password hashes: one at a time in a process, for each takes a core for a fifth of a second.

Twelve at once made every request of the API wait for over a second. The turn is taken where the
hash is computed, so that no door to a password can leave it out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock, local
from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher, BasePasswordHasher

from core.errors import Overloaded

WAITING_MAX = 4
WAIT_SECONDS = 1.0


class PasswordsBusy(Overloaded):
    retry_after_seconds = 2
    message = "Too many passwords are being checked at this moment. Try again in a few seconds."


class Turns:
    """Let one thread at a time go on; few wait, and not for long.

    :param waiting: how many threads may wait.
    :param seconds: how long each of them waits at most.
    """

    def __init__(self, *, waiting: int, seconds: float) -> None:
        self._places = BoundedSemaphore(1 + waiting)
        self._turn = Lock()
        self._seconds = seconds
        self._mine = local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Run the block when it is this thread's turn; a turn inside of a turn is the same one.

        :raises PasswordsBusy: too many wait already, or the wait is over.
        """
        if getattr(self._mine, "is_taken", False):
            yield
            return
        with self._place():
            if not self._turn.acquire(timeout=self._seconds):
                raise PasswordsBusy
            self._mine.is_taken = True
            try:
                yield
            finally:
                self._mine.is_taken = False
                self._turn.release()

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise PasswordsBusy
        try:
            yield
        finally:
            self._places.release()


turns = Turns(waiting=WAITING_MAX, seconds=WAIT_SECONDS)


class InTurn(BasePasswordHasher):
    """Before a hasher: what it computes, it computes when it is its turn."""

    def encode(self, password: str, salt: str, **options: Any) -> str:
        with turns.taken():
            return super().encode(password, salt, **options)

    def verify(self, password: str, encoded: str) -> bool:
        with turns.taken():
            return super().verify(password, encoded)


class Argon2InTurn(InTurn, Argon2PasswordHasher):
    """Django's, of the same cost, but on one core: eight threads would take the others as well."""

    parallelism = 1
