"""Statements that run many times a second: PostgreSQL plans them once per connection.

Django writes the values into a statement's text, and so PostgreSQL parses and plans every one anew,
which can take as long as its work. Here the text stays the same and the values travel beside it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Cursor


def rows(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Execute a prepared statement on Django's connection and return its rows.

    Types are told in the text (`%(ids)s::text[]`): PostgreSQL cannot guess them from the values.

    :raises DatabaseError: Django's, as from any cursor of its.
    """
    with _executed(query, values) as cursor:
        return cursor.fetchall()


def run(query: str, values: Mapping[str, Any]) -> None:
    """Execute a prepared statement that returns no rows, as `rows` does one that does."""
    with _executed(query, values):
        pass


@contextmanager
def _executed(query: str, values: Mapping[str, Any]) -> Iterator[Cursor]:
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        yield cursor.execute(query, values, prepare=True, binary=True)


def array(values: Iterable[object]) -> str:
    """Write an array of numbers, truth values or ids of ours, none of which needs quotes.

    psycopg writes arrays an element at a time, which for some dozens takes longer than the rest.
    """
    return f"{{{','.join(map(str, values))}}}"
