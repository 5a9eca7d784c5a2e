"""A password hasher that tells what it computes, and can be held in the middle of it."""

from threading import Event
from typing import Any

from django.contrib.auth.hashers import MD5PasswordHasher

from merchants.passwords import InTurn

PATIENCE_SECONDS = 30


class Hashes:
    """Passwords that the hasher was given, in order: `compared` with a hash, or `made` into one."""

    def __init__(self) -> None:
        self.compared: list[str] = []
        self.made: list[str] = []
        self.begun, self.may_end = Event(), Event()
        self.may_end.set()

    def hold(self) -> None:
        """Let nothing that begins from now on end before `let_go`."""
        self.begun.clear()
        self.may_end.clear()

    def let_go(self) -> None:
        self.may_end.set()

    def compute(self, seen: list[str], password: str) -> None:
        seen.append(password)
        self.begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]


hashes = Hashes()


class _Held(MD5PasswordHasher):
    def encode(self, password: str, salt: str) -> str:
        hashes.compute(hashes.made, password)
        return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        hashes.compute(hashes.compared, password)
        decoded = self.decode(encoded)
        return encoded == MD5PasswordHasher().encode(password, decoded["salt"])

    def must_update(self, _encoded: str) -> bool:
        return False


class HeldHasher(InTurn, _Held):
    """Takes its turn as the service's own does."""


HELD: list[Any] = [f"{__name__}.HeldHasher"]
