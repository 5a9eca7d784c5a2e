"""Turns: a person makes one export at a time, whichever process answers it.

A turn is a key on Redis that ends by itself, so a process that dies keeps no person out for long.
"""

import secrets
from contextlib import suppress
from typing import Any, Final

from core import redis

# Real time. Each page of rows renews it.
TURN_SECONDS: Final = 60
# Only one's own turn is ended: a slow one may have lost it to another.
END = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class AnotherIsRunning(Exception):
    """The person has a turn already."""


class TurnsAway(Exception):
    """Redis does not answer, so it is not known whether the person has a turn."""


class Turn:
    """One person's turn to export."""

    def __init__(self, user_id: int) -> None:
        """Begin the turn.

        :raises AnotherIsRunning: the person has a turn already.
        :raises TurnsAway: Redis does not answer.
        """
        self.name = f"export:{user_id}"
        self.token = secrets.token_urlsafe(16)
        try:
            is_mine = redis.call(
                lambda client: client.set(self.name, self.token, nx=True, ex=TURN_SECONDS)
            )
        except redis.Away:
            raise TurnsAway from None
        if not is_mine:
            raise AnotherIsRunning

    def renew(self) -> None:
        """Give the turn its time again.

        :raises AnotherIsRunning: it had ended, for nothing was asked of it for too long.
        """
        with suppress(redis.Away):  # An export that has begun goes on.
            held: Any = redis.call(lambda client: client.getex(self.name, ex=TURN_SECONDS))
            if held is None or held.decode() != self.token:
                raise AnotherIsRunning

    def end(self) -> None:
        with suppress(redis.Away):  # Then it ends by itself.
            redis.call(lambda client: client.eval(END, 1, self.name, self.token))
