"""Lists of rows that have any of several values of a column, with an index behind each value.

An index has the rows of one value in the list's order, and those of several values in none. Asked
for `type IN (…)` PostgreSQL reads the table in the order of time, through whatever other rows lie
between. Here it goes to each value's own place in the index, and puts together what it finds there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connections
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

Rows = QuerySet[Any]


class Parts(NamedTuple):
    """The values of a column that rows may have; no two rows are the same."""

    column: str
    values: Sequence[str]


def first(rows: Rows, parts: Parts, order: Sequence[str], most: int) -> Rows:
    """Return the first rows in an order that have one of the values.

    :param order: as `order_by` takes it; the last of its columns is `id`.
    """
    found, values = _found(rows, parts, order, most)
    direction = ", ".join(_direction(name) for name in order)
    ids = f"SELECT found.id FROM {found} ORDER BY {direction} LIMIT {most:d}"  # noqa: S608
    # The text is made of names of columns alone; values travel beside it.
    return rows.filter(pk__in=RawSQL(ids, values)).order_by(*order)  # noqa: S611


def count(rows: Rows, parts: Parts, order: Sequence[str], most: int) -> int:
    """Count the rows that have one of the values, up to `most`."""
    found, values = _found(rows, parts, order, most)
    some = f"SELECT 1 FROM {found} LIMIT {most:d}"  # noqa: S608
    with connections[rows.db].cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({some}) AS counted", values)  # noqa: S608
        [[number]] = cursor.fetchall()
    return int(number)


def count_each(rows: Rows, parts: Parts, order: Sequence[str], most: int) -> dict[str, int]:
    """Count the rows of each value, up to `most` of each: values without a row have 0."""
    part = _of_one(rows, parts, order)
    # The order may be of an alias, which cannot be selected, and need not be.
    sql, values = part.values("pk")[:most].query.sql_with_params()
    number = f"(SELECT count(*) FROM ({sql}) AS found)"  # noqa: S608
    each = f"SELECT part.value, {number} FROM unnest(%s::text[]) AS part (value)"  # noqa: S608
    with connections[rows.db].cursor() as cursor:
        cursor.execute(each, (*values, [*parts.values]))
        return dict(cursor.fetchall())


def _found(
    rows: Rows, parts: Parts, order: Sequence[str], most: int
) -> tuple[str, tuple[Any, ...]]:
    """Return as SQL the first rows of each part, by what they are ordered by, and its values."""
    names = [name.removeprefix("-") for name in order]
    part = _of_one(rows, parts, order)
    sql, values = part.values(*names)[:most].query.sql_with_params()
    found = f"unnest(%s::text[]) AS part (value), LATERAL ({sql}) AS found"
    return found, ([*parts.values], *values)


def _of_one(rows: Rows, parts: Parts, order: Sequence[str]) -> Rows:
    """Return the rows that have `part.value`, in an order."""
    return rows.filter(**{parts.column: RawSQL("part.value", ())}).order_by(*order)


def _direction(name: str) -> str:
    column = name.removeprefix("-")
    return f"found.{column} {'DESC' if column != name else 'ASC'}"
