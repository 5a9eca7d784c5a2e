"""Questions that may take long: they are given up after three seconds, and the page says so.

All questions of a page together have five seconds: where each is slow, the last ones get what is
left of them.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import monotonic
from typing import Any

from django.db import OperationalError, connection, transaction

LIMIT_MS = 3_000
WHOLE_MS = 5_000
ASKING = ("SELECT", "WITH")
QUERY_CANCELED = "57014"
# The limit that holds where the code runs, in ms; None outside of every block.
_limit: ContextVar[int | None] = ContextVar("limit", default=None)


class TookTooLong(Exception):
    """The database was not done in time."""


@contextmanager
def limited(milliseconds: int = LIMIT_MS, *, spent_seconds: float = 0) -> Iterator[None]:
    """Give each of the block's questions so long; a block inside has its own limit.

    The outermost block ends within `WHOLE_MS`, or within its limit if that is longer.

    :param spent_seconds: of that time, before the block.
    :raises TookTooLong: one of them was not answered by then; what the block around it asks next
        is answered as ever.
    """
    outer = _limit.get()
    token = _limit.set(milliseconds)
    left = max(WHOLE_MS, milliseconds) - spent_seconds * 1000
    whole = _whole(left) if outer is None else nullcontext()
    try:
        with whole, transaction.atomic():
            _set(milliseconds, before=outer)
            yield
        # A savepoint keeps the setting when it is released, and a commit ends it.
        if connection.in_atomic_block:
            _set(outer, before=_limit.get())
    except OperationalError as problem:
        if not is_too_slow(problem):
            raise
        raise TookTooLong from None
    finally:
        _limit.reset(token)


def is_too_slow(problem: Exception) -> bool:
    """Return whether a problem is that the database was not done in time."""
    if isinstance(problem, OperationalError):
        return getattr(problem.__cause__, "sqlstate", None) == QUERY_CANCELED
    return isinstance(problem, TookTooLong)


def tighten(milliseconds: int) -> None:
    """Give what the innermost block asks from here on so long each."""
    _set(milliseconds, before=_limit.get())
    _limit.set(milliseconds)


def _whole(milliseconds: float) -> AbstractContextManager[None]:
    """Return a block whose questions together have so long."""
    ends_at = monotonic() + milliseconds / 1000

    def ask(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        limit = _limit.get()
        if limit is not None and sql.lstrip().startswith(ASKING):
            left = int((ends_at - monotonic()) * 1000)
            if left <= 0:
                raise TookTooLong
            if left < limit:
                tighten(left)
        return execute(sql, *rest)

    return connection.execute_wrapper(ask)


def _set(limit: int | None, *, before: int | None) -> None:
    if limit == before:
        return
    written = "DEFAULT" if limit is None else str(limit)
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {written}")
