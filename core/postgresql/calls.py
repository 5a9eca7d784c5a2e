"""Statements as calls of libpq, for those that run many times a second.

A cursor of psycopg looks at each statement again: its text, a type for each value, whether it is
prepared, and it waits in Python. That takes several times as long as the call. Here the text is
read once, values travel as text, and psycopg's loaders read the rows as they do everywhere.
"""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from psycopg import Connection, Cursor, DataError, InterfaceError, OperationalError
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

_BEGIN = b"BEGIN"
_DONE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
# Their `str` is what PostgreSQL reads; a list, for one, has a text of another kind.
_PLAIN = (str, int, float, Decimal, date, UUID)
# psycopg's own; Django sets None, with which psycopg prepares nothing.
PREPARE_THRESHOLD = 5
_MARK = re.compile(r"%(?:\((\w+)\)s(::)?|%)")

_numbers = count(1)
# The names of what is prepared in each session.
_prepared: WeakKeyDictionary[Connection[Any], set[bytes]] = WeakKeyDictionary()


class _Statement(NamedTuple):
    """A statement as PostgreSQL reads it: its name in each session, its text, its values' names."""

    name: bytes
    text: bytes
    values: list[str]


class StatementCall:
    """A cursor for one statement.

    :param keep: leave the statement prepared in the session, for the next call.
    """

    def __init__(self, raw: Connection[Any], *, keep: bool) -> None:
        self._raw, self._keep = raw, keep
        self._result: PGresult | None = None
        # The session had the statement's plan before this call.
        self.was_kept = False

    def execute(self, query: str, values: Mapping[str, Any]) -> None:
        """Send the statement and wait for its result, while other threads run.

        :raises psycopg.Error: as a cursor of psycopg's does.

        :raises TypeError: a value is of a type whose text may be another than PostgreSQL's.
        """
        statement = _statement(query)
        sent = [_text(values[name]) for name in statement.values]
        raw = self._raw
        if not raw.autocommit and raw.pgconn.transaction_status == TransactionStatus.IDLE:
            # psycopg begins a transaction with its own first statement only.
            _require_done(raw, raw.pgconn.exec_(_BEGIN))
        if self._keep:
            self.was_kept = _is_kept(raw, statement)
            _prepare(raw, statement)
            nullable: Any = sent  # The types of `exec_prepared` leave NULL out.
            result = raw.pgconn.exec_prepared(statement.name, nullable, None, Format.BINARY)
        else:
            result = raw.pgconn.exec_params(statement.text, sent, None, None, Format.BINARY)
        _require_done(raw, result)
        self._result = result

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows, read by psycopg's loaders; none if the statement returns no rows."""
        result = self._executed()
        if not result.ntuples:
            return []
        reader = Transformer(self._raw)
        reader.set_pgresult(result)
        return reader.load_rows(0, result.ntuples, tuple)

    @property
    def rowcount(self) -> int:
        """Return how many rows the statement wrote, or found."""
        return self._executed().command_tuples or 0

    def _executed(self) -> PGresult:
        if self._result is None:
            raise InterfaceError("no statement was executed")
        return self._result


class CursorCall(StatementCall):
    """The same by a cursor of psycopg, which prepares the statement itself: slower, less of ours.

    For a psycopg whose libpq calls have changed (`settings.LIBPQ_CALLS`).
    """

    def __init__(self, raw: Connection[Any], *, keep: bool) -> None:
        super().__init__(raw, keep=keep)
        self._cursor = Cursor(raw)
        if keep and raw.prepare_threshold is None:
            raw.prepare_threshold = PREPARE_THRESHOLD

    def execute(self, query: str, values: Mapping[str, Any]) -> None:
        statement = _statement(query)
        texts = {name: _text(values[name]) for name in statement.values}
        sent = {name: None if text is None else text.decode() for name, text in texts.items()}
        self.was_kept = _is_kept(self._raw, statement)
        self._cursor.execute(query.encode(), sent, prepare=self._keep, binary=True)
        if self._keep:
            _prepared.setdefault(self._raw, set()).add(statement.name)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [] if self._cursor.description is None else self._cursor.fetchall()

    @property
    def rowcount(self) -> int:
        return max(0, self._cursor.rowcount)


@cache
def _statement(query: str) -> _Statement:
    """Number the values in a text of psycopg's style: `%(name)s::int` becomes `$1::int`."""
    values: list[str] = []

    def numbered(mark: re.Match[str]) -> str:
        name = mark[1]
        if name is None:
            return "%"
        if mark[2] is None:
            raise ValueError(f"{name} needs a type: %({name})s::…")
        if name not in values:
            values.append(name)
        return f"${values.index(name) + 1}::"

    text = _MARK.sub(numbered, query).encode()
    return _Statement(b"call_%d" % next(_numbers), text, values)


def _is_kept(raw: Connection[Any], statement: _Statement) -> bool:
    return statement.name in _prepared.get(raw, ())


def _prepare(raw: Connection[Any], statement: _Statement) -> None:
    mine = _prepared.get(raw)
    if mine is None:
        mine = _prepared[raw] = set()
    if statement.name not in mine:
        _require_done(raw, raw.pgconn.prepare(statement.name, statement.text))
        mine.add(statement.name)


def _text(value: Any) -> bytes | None:
    if value.__class__ is str:
        text = value
    elif value is None:
        return None
    elif isinstance(value, _PLAIN):
        text = str(value)
    elif isinstance(value, bytes):
        return b"\\x" + value.hex().encode()
    else:
        raise TypeError(f"{type(value).__name__} is not sent as text")
    if "\0" in text:  # libpq would send what is before it.
        raise DataError("PostgreSQL's text has no NUL (0x00)")
    return text.encode()


def _require_done(raw: Connection[Any], result: PGresult) -> None:
    if result.status in _DONE:
        return
    if result.error_field(DiagnosticField.SQLSTATE) is None:
        raise OperationalError(raw.pgconn.get_error_message())
    raise error_from_result(result)
