"""Rows of our models, written and found by statements that are put together once.

For what is done for every payment, for every read, and for every merchant at night, and for nothing
else (docs/adr/0031). Django builds a statement for each `save()` and each query; here each text
is kept, and PostgreSQL keeps its plan. Neither `save()` nor signals run.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import orjson
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, router
from django.db.models import BinaryField, JSONField, Model
from django.db.models.fields import AutoFieldMixin

from core import prepared

M = TypeVar("M", bound=Model)


def insert(row: Model) -> None:
    """Insert a row with all its columns; an id that the database gives stays unset.

    :raises DatabaseError: as `save(force_insert=True)` does.
    """
    insert_all([row])


def insert_all(rows: Sequence[Model]) -> None:
    """Insert some rows of one model, at least one; each number of rows has its own statement."""
    columns, query = _insertion(type(rows[0]), len(rows))
    values: dict[str, Any] = {}
    for row, of_row in zip(rows, columns, strict=True):
        values |= _written(row, of_row)
    prepared.run(query, values, using=_alias(type(rows[0])))
    for row in rows:
        _note_stored(row)


def insert_new(row: Model) -> bool:
    """Insert a row unless a unique column already has its value; return whether it was.

    It gets the id that the database gives. One that is inserted this moment is waited for.
    """
    columns, query = _careful_insertion(type(row))
    stored = prepared.rows(query, _written(row, columns), using=_alias(type(row)))
    if stored:
        [[row.pk]] = stored
        _note_stored(row)
    return bool(stored)


def insert_lossily(row: Model) -> None:
    """Insert a row without waiting for the disk: a crash of the database may lose it.

    Outside of a transaction; in one it would take the rest of the transaction along.
    """
    insert_after(row, _QUIET)


def insert_after(row: Model, first: str, **values: str) -> bool:
    """Insert a row in one statement with another, if that one returns a row; return whether it did.

    :param first: a constant, such as an INSERT that returns what it wrote.
    """
    columns, query = _insertion_after(type(row), first)
    return prepared.run(query, values | _written(row, columns), using=_alias(type(row))) > 0


def update(row: Model, *names: str) -> None:
    """Write the named columns of a row that its id finds; without names all columns.

    :raises DatabaseError: there is no such row, or as `save(force_update=True)` does.
    """
    columns, query = _change(type(row), names)
    if not prepared.run(query, _written(row, columns), using=_alias(type(row))):
        raise DatabaseError("There is no row to update.")


def find(model: type[M], condition: str, **values: str) -> M | None:
    """Return the row that a condition finds, None if there is none.

    :param condition: all that follows WHERE: a constant that names the types of its values, such
        as `id = %(id)s::text`.
    :raises DataError: a value holds a NUL.
    """
    return next(iter(select(model, condition, **values)), None)


def lock(model: type[M], condition: str, **values: str) -> M | None:
    """Return the row that a condition finds, locked until the transaction ends."""
    return find(model, f"{condition} FOR UPDATE", **values)


def select(model: type[M], condition: str, **values: str) -> list[M]:
    """Return all rows that a condition finds, as `find` returns one."""
    search = _search(model, condition)
    found = prepared.rows(search.query, values, using=_alias(model))
    return [_read(model, search, row) for row in found]


def _note_stored(row: Model) -> None:
    row._state.adding, row._state.db = False, _alias(type(row))


# --- Statements, each put together once ---------------------------------------------------------


@cache
def _alias(model: type[Model]) -> str:
    """Return the database of a model; the test bank's tables have one of their own."""
    return router.db_for_write(model)


class _Column(NamedTuple):
    """A column that a statement writes: the name of its value, its attribute, and its dump.

    :param dump: None if the value is sent as it is.
    """

    value: str
    attribute: str
    dump: Callable[[Any], Any] | None


class _Search(NamedTuple):
    """A statement, and the fields that read their columns in Python."""

    query: str
    readers: list[tuple[int, Any]]


@cache
def _insertion(model: type[Model], count: int) -> tuple[list[list[_Column]], str]:
    fields = [one for one in model._meta.concrete_fields if not isinstance(one, AutoFieldMixin)]
    names = ", ".join(f'"{field.column}"' for field in fields)
    marks = (
        ", ".join(_mark(field, f"{field.attname}_{at}") for field in fields) for at in range(count)
    )
    rows = ", ".join(f"({of_row})" for of_row in marks)
    columns = [[_column(field, f"{field.attname}_{at}") for field in fields] for at in range(count)]
    return columns, f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES {rows}'  # noqa: S608


_QUIET = "SELECT set_config('synchronous_commit', 'off', true)"


@cache
def _insertion_after(model: type[Model], first: str) -> tuple[list[_Column], str]:
    [columns], query = _insertion(model, 1)
    into, _, marks = query.partition(" VALUES ")
    return columns, f"WITH before AS ({first}) {into} SELECT {marks[1:-1]} FROM before"  # noqa: S608


@cache
def _careful_insertion(model: type[Model]) -> tuple[list[_Column], str]:
    [columns], query = _insertion(model, 1)
    key: Any = model._meta.pk
    return columns, f'{query} ON CONFLICT DO NOTHING RETURNING "{key.column}"'


@cache
def _change(model: type[Model], names: tuple[str, ...]) -> tuple[list[_Column], str]:
    key: Any = model._meta.pk
    named: list[Any] = [model._meta.get_field(name) for name in names]
    fields = named or [field for field in model._meta.concrete_fields if field is not key]
    changes = ", ".join(f'"{field.column}" = {_mark(field, field.attname)}' for field in fields)
    where = f'"{key.column}" = {_mark(key, key.attname)}'
    columns = [_column(field, field.attname) for field in (*fields, key)]
    return columns, f'UPDATE "{model._meta.db_table}" SET {changes} WHERE {where}'  # noqa: S608


@cache
def _search(model: type[Model], condition: str) -> _Search:
    fields = model._meta.concrete_fields
    columns = ", ".join(_shown(field) for field in fields)
    readers = [(at, one) for at, one in enumerate(fields) if hasattr(one, "from_db_value")]
    query = f'SELECT {columns} FROM "{model._meta.db_table}" WHERE {condition}'  # noqa: S608
    return _Search(query, readers)


def _mark(field: Any, name: str) -> str:
    """Return the place of a value, with its column's type but without a length.

    A cast to a length would cut a text off; so the column refuses one that is too long.
    """
    kind, _, rest = field.db_type(connection).partition("(")
    if "[]" in kind + rest:
        raise ImproperlyConfigured(f"{field} is an array, which core.rows does not write.")
    return f"%({name})s::{_SHORT.get(kind, kind)}"


# psycopg reads a statement's text only once if it is not long.
_SHORT = {"character varying": "varchar", "timestamp with time zone": "timestamptz"}


def _shown(field: Any) -> str:
    return f'"{field.column}"::text' if isinstance(field, JSONField) else f'"{field.column}"'


# --- Values: those of which `core.prepared` does not know the text, dumped here ------------------


def _column(field: Any, value: str) -> _Column:
    return _Column(value, field.attname, _dump_of(field))


def _dump_of(field: Any) -> Callable[[Any], Any] | None:
    if isinstance(field, JSONField):
        return partial(_json, encoder=field.encoder)
    return bytes if isinstance(field, BinaryField) else None


# Left to the field's own encoder, and so written as the ORM writes it.
_NOT_PLAIN = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def _json(value: Any, encoder: type[json.JSONEncoder] | None) -> str:
    try:
        return orjson.dumps(value, option=_NOT_PLAIN).decode()
    except TypeError:  # Among others a number of more than 64 bits, or a key that is no text.
        return json.dumps(value, cls=encoder)


def _written(row: Model, columns: Iterable[_Column]) -> dict[str, Any]:
    held = row.__dict__
    written = {}
    for value, attribute, dump in columns:
        kept = held[attribute]
        written[value] = kept if dump is None or kept is None else dump(kept)
    return written


def _read(model: type[M], search: _Search, found: Sequence[Any]) -> M:
    values = list(found)
    for at, field in search.readers:
        values[at] = field.from_db_value(values[at], None, connection)
    return model.from_db(_alias(model), (), values)
