"""Leases: only the process that holds a row's lease asks the bank about it.

A lease ends by itself, in real time: after a crash another process can go on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone

from acquirers.conversation.models import InDoubt
from core.errors import LockTimeout

Row = TypeVar("Row", bound=InDoubt)
log = structlog.get_logger(__name__)


def end() -> datetime:
    """Return the end of a lease that begins now, in real time."""
    return timezone.now() + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def begin(row: InDoubt) -> None:
    """Take the lease of a row that the caller has locked, or has just read under a lock.

    Changes the row in memory; the caller saves it.
    """
    row.lease_until = end()


def end_with(row: InDoubt) -> None:
    """End the lease with the current transaction: the row is locked, and the caller saves it."""
    row.lease_until = None


def take(row: Row) -> Row | None:
    """Take the row's lease and return the row as it is now; decide on this one only.

    :returns: None if another process is asking the bank already, or has taken the lease over since.
    """
    ours = end()
    if not free(type(row)).filter(pk=row.pk).update(lease_until=ours):
        return None
    return _rows(type(row)).filter(pk=row.pk, lease_until=ours).first()


@contextmanager
def held(row: Row) -> Iterator[Row]:
    """Hold the row's lease during the block, which gets the row as it is now.

    :raises LockTimeout: another process is asking the bank already.
    """
    ours = take(row)
    if ours is None:
        raise LockTimeout
    try:
        yield ours
    finally:
        give_back(ours)


def free(model: type[InDoubt]) -> QuerySet[Any]:
    """Return the rows whose lease is free or has run out."""
    return _rows(model).filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))


def is_ours(row: InDoubt) -> QuerySet[Any]:
    """Return the row in the database, if no process has taken its lease over since it was read."""
    return _rows(type(row)).filter(pk=row.pk, lease_until=row.lease_until)


@contextmanager
def given_back(row: InDoubt) -> Iterator[None]:
    """Give the row's lease back if the block fails, so that others need not wait for its end.

    A block that succeeds has written the lease away in its own last transaction.
    """
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            give_back(row)


def give_back(row: InDoubt) -> None:
    """End the row's lease now; if the database is away, it ends by itself.

    A lease that another process has taken over since is left alone.
    """
    try:
        is_ours(row).update(lease_until=None)
    except DatabaseError:
        log.warning("lease_not_released", row=str(row), exc_info=True)


def is_overtaken(asked: InDoubt, locked: InDoubt) -> bool:
    """Return whether another process has taken the row over since the asker got its lease.

    :param asked: the row as the asker read it before it asked the bank.
    :param locked: the same row as it is now, locked.
    """
    return asked.lease_until != locked.lease_until


def _rows(model: type[InDoubt]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model._default_manager.all()
    return rows.select_related(*model.read_with) if model.read_with else rows
