"""The shared buffers that PostgreSQL touches for statements, found in memory or not."""

import re
from collections.abc import Callable
from typing import Any

from django.db import connection

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


def of_questions(work: Callable[[], Any]) -> tuple[Any, list[int]]:
    """Return the same of work that also writes: only its questions are explained."""
    buffers: list[int] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if QUESTION.match(sql) and not WRITE.search(sql):
            buffers.append(_of(sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        found = work()
    return found, buffers


def _of(sql: str, params: Any) -> int:
    # Past Django's cursors, which would explain the explaining.
    with connection.connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        [[[found]]] = cursor.fetchall()
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])
