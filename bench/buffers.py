"""The shared buffers that PostgreSQL touches for statements, found in memory or not."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import OperationalError, connection

from panel.patience import TookTooLong, is_too_slow

QUESTION = re.compile(r"\s*(SELECT|WITH)\b")
WRITE = re.compile(r"\b(INSERT INTO|DELETE FROM|UPDATE \w+\s+SET)\b")


def of_statements(work: Callable[[], Any]) -> tuple[Any, list[int]]:
    """Return what some reading work returns, and the buffers of each of its statements."""
    buffers: list[int] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        buffers.append(_of(sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        found = work()
    return found, buffers


class Asked(NamedTuple):
    """The answer of some work, with the buffers of each of its questions.

    :param is_late: PostgreSQL gave a statement up at the limit of the work. An explained one takes
        longer than it does by itself.
    """

    answer: Any
    buffers: list[int]
    is_late: bool


def of_questions(work: Callable[[], Any]) -> Asked:
    """Return the same of work that also writes: only its questions are explained."""
    buffers: list[int] = []
    late: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            if QUESTION.match(sql) and not WRITE.search(sql):
                buffers.append(_of(sql, params))
            return execute(sql, params, many, context)
        except (OperationalError, TookTooLong) as problem:
            if is_too_slow(problem):
                late.append(sql)
            raise

    with connection.execute_wrapper(explained):
        answer = work()
    return Asked(answer, buffers, bool(late))


def _of(sql: str, params: Any) -> int:
    # Past Django's cursors, which would explain the explaining. Errors are Django's: work that
    # knows what to do about a statement at its limit does it about an explained one too.
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        [[[found]]] = cursor.fetchall()
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])
