"""Statements that run many times a second: PostgreSQL plans them once per connection.

Django writes the values into a statement's text, so PostgreSQL parses and plans each one, which can
take as long as its work. Here the text stays the same and the values travel separately.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter, methodcaller
from typing import Any, TypeVar

from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName

from core.postgresql.calls import CursorCall, StatementCall

T = TypeVar("T")

_HARMLESS = re.compile(r"[\w,:.+-]*", re.ASCII)


def rows(
    query: str, values: Mapping[str, Any], *, using: str = DEFAULT_DB_ALIAS
) -> list[tuple[Any, ...]]:
    """Execute a prepared statement on Django's connection and return its rows.

    The text names the types (`%(ids)s::text[]`): PostgreSQL cannot guess them from the values.

    :raises OperationalError: among others, when the connection has lost what was prepared.
    :raises DatabaseError: Django's, as from any cursor of its.
    """
    return _executed(query, values, connections[using], take=methodcaller("fetchall"))


def run(query: str, values: Mapping[str, Any], *, using: str = DEFAULT_DB_ALIAS) -> int:
    """Execute a prepared statement that returns no rows; return how many rows it wrote."""
    return _executed(query, values, connections[using], take=attrgetter("rowcount"))


def _executed(
    query: str,
    values: Mapping[str, Any],
    connection: BaseDatabaseWrapper,
    *,
    take: Callable[[StatementCall], T],
) -> T:
    connection.ensure_connection()
    raw = connection.connection
    made = StatementCall if settings.LIBPQ_CALLS else CursorCall
    call = made(raw, keep=settings.PREPARED_STATEMENTS)
    try:
        if connection.execute_wrappers or connection.queries_logged:
            _execute_as_django_does(call, query, values, connection)
            return take(call)
        connection.validate_no_broken_transaction()
        with connection.wrap_database_errors:
            call.execute(query, values)
            return take(call)
    except (ProgrammingError, NotSupportedError) as problem:
        if not _is_gone(problem.__cause__, call):
            raise
        # It would not come back by itself; nor may another thread get this connection.
        raw.close()
        connection.close()
        raise OperationalError("a prepared statement is gone") from problem


def _is_gone(cause: BaseException | None, call: StatementCall) -> bool:
    """Return whether the session has lost a plan; a statement that it cannot do is an error.

    A session that is another one, or has thrown everything away, knows no such name. Where a
    column has another type since, the plan that was kept is refused as what the server cannot do.
    """
    is_refused = isinstance(cause, FeatureNotSupported) and call.was_kept
    return is_refused or isinstance(cause, InvalidSqlStatementName)


def _execute_as_django_does(
    call: StatementCall, query: str, values: Mapping[str, Any], connection: BaseDatabaseWrapper
) -> None:
    """Pass the statement through Django's wrappers and log, which shows it without values.

    It takes a sixth of a short statement's time, and so is done only if something watches.
    """
    bare: Any = call
    log: AbstractContextManager[None] = nullcontext()
    if connection.queries_logged:
        no_cursor: Any = None  # It is needed only for a text with values in it.
        log = connection.make_debug_cursor(no_cursor).debug_sql(query)
    with log:
        connection.make_cursor(bare).execute(query, values)


def use_indexes() -> None:
    """Let the caller's transaction read tables by their indexes alone.

    For what takes a chunk of a table of any size. PostgreSQL plans by what it last knew of it: one
    that was empty then it would read whole, once for each row of the chunk, when much has come
    since. And a prepared plan is kept however a table grows.
    """
    run("SET LOCAL enable_seqscan = off", {})


def array(values: Iterable[object]) -> str:
    """Write an array of numbers, truth values, moments or ids of ours: none needs quotes.

    psycopg writes arrays an element at a time, which for some dozens takes longer than the rest.

    :raises ValueError: one of them is something else.
    """
    texts = [str(value) for value in values]
    joined = ",".join(texts)
    if joined.count(",") >= max(1, len(texts)) or not _HARMLESS.fullmatch(joined):
        raise ValueError("only numbers, truth values, moments and ids go into an array's text")
    return f"{{{joined}}}"
