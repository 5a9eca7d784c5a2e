"""Requests that meet: real threads, each with connections of its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from django.db import connection, connections

from tests.client import Answer

Call = Callable[[], Answer]


def at_once(calls: Sequence[Call]) -> list[Answer]:
    """Make all the calls at the same moment and print how they ended."""
    answers = together(calls)
    ended = Counter(f"{one.status} {_code(one)}".strip() for one in answers)
    print(f"{len(answers)} tried: {dict(ended)}")  # noqa: T201
    assert len(answers) == len(calls) > 1
    return answers


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make all the calls at the same moment, each in a thread of its own."""
    barrier = Barrier(len(calls))
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: _when_all_are_there(call, barrier), calls))


def _code(answer: Answer) -> str:
    return answer.error["code"] if answer.status >= 400 else ""


def _when_all_are_there(call: Callable[[], Any], barrier: Barrier) -> Any:
    barrier.wait(timeout=20)
    try:
        return call()
    finally:
        connections.close_all()


@contextmanager
def dropped(table: str, guard: str) -> Iterator[None]:
    """Run the block without a unique index, then empty the table and put it back."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [guard])
        [definition] = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {guard}")
        cursor.execute(f"DROP INDEX IF EXISTS {guard}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608
            cursor.execute(definition)
