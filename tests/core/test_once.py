"""Threads that meet at the first call share what is made, and each argument has its own."""

from collections.abc import Callable
from threading import Thread

import pytest

from acquirers import _gateway, slots
from acquirers.rails import _rail
from core import redis
from core.once import once
from tests.stage.lengths import tried

# So long the second thread may take to come in; it makes another object at once, or it waits.
MEETING_SECONDS = 0.3


class Meeting:
    """Makes objects; while the first is made, a second thread asks for it."""

    def __init__(self) -> None:
        self.made: list[object] = []
        self.given: list[object] = []
        self.get: Callable[[], object] = object
        self.second = Thread(target=self.ask)

    def make(self) -> object:
        made = object()
        self.made.append(made)
        if len(self.made) == 1:
            self.second.start()
            self.second.join(MEETING_SECONDS)
        return made

    def ask(self) -> None:
        self.given.append(self.get())


def test_threads_that_meet_at_the_first_call_share_what_is_made() -> None:
    meeting = Meeting()
    meeting.get = once(meeting.make)

    meeting.ask()

    meeting.second.join()
    assert len(meeting.made) == 1
    assert meeting.given == 2 * meeting.made


def test_each_argument_has_its_own_and_what_fails_is_made_again() -> None:
    asked: list[int] = []

    @once
    def made(number: int) -> list[int]:
        asked.append(number)
        if len(asked) == 1:
            raise ValueError("not yet")
        return [number]

    with pytest.raises(ValueError, match="not yet"):
        made(1)

    assert made(1) is made(1)
    assert made(1) is not made(2)
    assert asked == [1, 1, 2]
    made.cache_clear()
    assert made(2) == [2]
    assert asked == [1, 1, 2, 2]


def test_all_that_counts_or_keeps_connections_is_made_so() -> None:
    ours = (slots._places, _gateway, _rail, redis.client, redis.circuit)

    assert all(isinstance(one, once) for one in ours)
    tried(len(ours), "objects of which a process has one")
