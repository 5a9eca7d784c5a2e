"""Leases: only the process that holds an attempt's lease asks the bank about it.

A lease ends by itself, in real time: after a crash another process can go on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from core.errors import LockTimeout
from core.querysets import MerchantRows
from payments.intents.models import Attempt

log = structlog.get_logger(__name__)


def end() -> datetime:
    """Return the end of a lease that begins now, in real time."""
    return timezone.now() + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def take(attempt: Attempt) -> Attempt | None:
    """Take the attempt's lease and return the attempt as it is now; decide on this one only.

    :returns: None if another process is asking the bank already, or has taken the lease over since.
    """
    ours = end()
    if not free().filter(id=attempt.id).update(lease_until=ours):
        return None
    taken = Attempt.objects.select_related("terminal").filter(id=attempt.id, lease_until=ours)
    return taken.first()


@contextmanager
def held(attempt: Attempt) -> Iterator[Attempt]:
    """Hold the attempt's lease during the block, which gets the attempt as it is now.

    :raises LockTimeout: another process is asking the bank already.
    """
    ours = take(attempt)
    if ours is None:
        raise LockTimeout
    try:
        yield ours
    finally:
        give_back(ours)


def free() -> MerchantRows:
    """Return the attempts whose lease is free or has run out."""
    return Attempt.objects.filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))


@contextmanager
def given_back(attempt: Attempt) -> Iterator[None]:
    """Give the attempt's lease back if the block fails, so that others need not wait for its end.

    A block that succeeds has written the lease away in its own last transaction.
    """
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            give_back(attempt)


def give_back(attempt: Attempt) -> None:
    """End the attempt's lease now; if the database is away, it ends by itself.

    A lease that another process has taken over since is left alone.
    """
    try:
        ours = Attempt.objects.filter(id=attempt.id, lease_until=attempt.lease_until)
        ours.update(lease_until=None)
    except DatabaseError:
        log.warning("attempt_lease_not_released", attempt=attempt.id, exc_info=True)
