"""Questions that may take long: they are given up after three seconds, and the page says so."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

LIMIT_MS = 3_000
QUERY_CANCELED = "57014"


class TookTooLong(Exception):
    """The database was not done in time."""


@contextmanager
def limited() -> Iterator[None]:
    """Run the block's questions within three seconds each.

    :raises TookTooLong: one of them was not answered by then.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {LIMIT_MS}")
            yield
            # A test's transaction goes on after this block.
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as problem:
        if getattr(problem.__cause__, "sqlstate", None) != QUERY_CANCELED:
            raise
        raise TookTooLong from None
