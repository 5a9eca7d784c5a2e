"""Questions that may take long: they are given up after three seconds, and the page says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import OperationalError, connection, transaction

LIMIT_MS = 3_000
QUERY_CANCELED = "57014"
# The limit that holds where the code runs, in ms; None outside of every block.
_limit: ContextVar[int | None] = ContextVar("limit", default=None)


class TookTooLong(Exception):
    """The database was not done in time."""


@contextmanager
def limited(milliseconds: int = LIMIT_MS) -> Iterator[None]:
    """Give each of the block's questions so long; a block inside has its own limit.

    :raises TookTooLong: one of them was not answered by then; what the block around it asks next
        is answered as ever.
    """
    outer = _limit.get()
    token = _limit.set(milliseconds)
    try:
        with transaction.atomic():
            _set(milliseconds, before=outer)
            yield
        # A savepoint keeps the setting when it is released, and a commit ends it.
        if connection.in_atomic_block:
            _set(outer, before=_limit.get())
    except OperationalError as problem:
        if getattr(problem.__cause__, "sqlstate", None) != QUERY_CANCELED:
            raise
        raise TookTooLong from None
    finally:
        _limit.reset(token)


def tighten(milliseconds: int) -> None:
    """Give what the innermost block asks from here on so long each."""
    _set(milliseconds, before=_limit.get())
    _limit.set(milliseconds)


def _set(limit: int | None, *, before: int | None) -> None:
    if limit == before:
        return
    written = "DEFAULT" if limit is None else str(limit)
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {written}")
