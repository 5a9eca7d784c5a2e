"""Requests that meet: real threads, each with connections of its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from django.db import connection, connections

from tests.stage.client import Answer

Call = Callable[[], Answer]
# Makes calls at the same moment, each in a thread of its own.
Meet = Callable[[Sequence[Callable[[], Any]]], list[Any]]


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
            barrier = Barrier(len(calls))
            return list(pool.map(lambda call: _when_all_are_there(call, barrier), calls))

        try:
            yield meet
        finally:
            meet([connections.close_all] * size)


def _code(answer: Answer) -> str:
    return answer.error["code"] if answer.status >= 400 else ""


def _when_all_are_there(call: Callable[[], Any], barrier: Barrier) -> Any:
    barrier.wait(timeout=20)
    return call()


@contextmanager
def dropped(table: str, guard: str) -> Iterator[None]:
    """Run the block without a unique index, then empty the table, come what may, and restore it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [guard])
        [definition] = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {guard}")
        cursor.execute(f"DROP INDEX IF EXISTS {guard}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608
            cursor.execute("SET session_replication_role = origin")
            cursor.execute(definition)
