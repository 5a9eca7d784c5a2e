"""Requests that meet: real threads, each with connections of its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Barrier, Condition
from typing import Any

from django.db import connections

from tests.stage.client import Answer
from tests.stage.database_role import as_owner, past_guards

Call = Callable[[], Answer]
# Makes calls at the same moment, each in a thread of its own.
Meet = Callable[[Sequence[Callable[[], Any]]], list[Any]]
# A hang is ended after this.
PATIENCE_SECONDS = 60


class Crowd:
    """Calls that are under way at the same time; each can wait for all the others."""

    def __init__(self, size: int) -> None:
        self._under_way, self._waiting, self._times = size, 0, 0
        self._moved = Condition()

    def wait_for_the_others(self) -> None:
        """Return when each of the others has ended, or waits here too."""
        with self._moved:
            self._waiting += 1
            times = self._times
            self._go_on_if_complete()
            assert self._moved.wait_for(lambda: self._times > times, PATIENCE_SECONDS)

    def end(self) -> None:
        with self._moved:
            self._under_way -= 1
            self._go_on_if_complete()

    def _go_on_if_complete(self) -> None:
        if self._waiting == self._under_way:
            self._waiting, self._times = 0, self._times + 1
            self._moved.notify_all()


_crowd: ContextVar[Crowd | None] = ContextVar("crowd", default=None)


def wait_for_the_others() -> None:
    """Return when each call that was begun together with this one has ended, or waits here too.

    It makes the moment in which a race is lost as long as it takes the others to come to it.
    """
    if crowd := _crowd.get():
        crowd.wait_for_the_others()


def at_once(calls: Sequence[Call]) -> list[Answer]:
    """Make all the calls at the same moment and print how they ended."""
    answers = together(calls)
    ended = Counter(f"{one.status} {_code(one)}".strip() for one in answers)
    print(f"{len(answers)} tried: {dict(ended)}")  # noqa: T201
    assert len(answers) == len(calls) > 1
    return answers


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make all the calls at the same moment, each in a thread of its own."""
    with team(len(calls)) as meet:
        return meet(calls)


@contextmanager
def team(size: int) -> Iterator[Meet]:
    """Keep threads, and the connections they open, for meetings of up to `size` calls."""
    with ThreadPoolExecutor(size) as pool:

        def meet(calls: Sequence[Callable[[], Any]]) -> list[Any]:
            barrier, crowd = Barrier(len(calls)), Crowd(len(calls))
            return list(pool.map(lambda call: _when_all_are_there(call, barrier, crowd), calls))

        try:
            yield meet
        finally:
            meet([connections.close_all] * size)


def _code(answer: Answer) -> str:
    return answer.error["code"] if answer.status >= 400 else ""


def _when_all_are_there(call: Callable[[], Any], barrier: Barrier, crowd: Crowd) -> Any:
    barrier.wait(PATIENCE_SECONDS)
    token = _crowd.set(crowd)
    try:
        return call()
    finally:
        _crowd.reset(token)
        crowd.end()


@contextmanager
def dropped(table: str, guard: str) -> Iterator[None]:
    """Run the block without a unique index, then empty the table, come what may, and restore it."""
    with as_owner() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [guard])
        [definition] = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {guard}")
        cursor.execute(f"DROP INDEX IF EXISTS {guard}")
    try:
        yield
    finally:
        with past_guards() as cursor:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608
            cursor.execute(definition)
