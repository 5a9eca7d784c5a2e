"""Work on many things in turn, of which one that fails stops no other."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError

log = structlog.get_logger(__name__)


@contextmanager
def alone(failed: str, **about: str | int) -> Iterator[None]:
    """Log an error of the block, and go on with the others; the next look comes back to this one.

    :param failed: the name of such an error in the log.
    :param about: the id of the merchant, or the number of the row, that the block is about.
    """
    try:
        yield
    except DatabaseError:
        # Locked for longer than is waited for, or the database is away.
        log.warning(failed, **about, exc_info=True)
    except Exception:  # A bug of ours.
        log.exception(failed, **about)
