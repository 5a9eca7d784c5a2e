"""Who may ask the bank about an attempt: whoever holds its lease, for a bounded real time."""

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
from payments.models import Attempt

log = structlog.get_logger(__name__)


def end() -> datetime:
    """Return until when a lease that begins now keeps others from asking."""
    return timezone.now() + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def take(attempt: Attempt) -> Attempt | None:
    """Take the attempt's lease and return the attempt as it is now; decide on this one only.

    :returns: None if somebody is asking the bank already.
    """
    if not free().filter(id=attempt.id).update(lease_until=end()):
        return None
    return Attempt.objects.get(id=attempt.id)


@contextmanager
def held(attempt: Attempt) -> Iterator[Attempt]:
    """Hold the attempt's lease during the block, which gets the attempt as it is now.

    :raises LockTimeout: somebody is asking the bank already.
    """
    ours = take(attempt)
    if ours is None:
        raise LockTimeout
    try:
        yield ours
    finally:
        give_back(ours)


def free() -> MerchantRows:
    """Return the attempts that nobody is asking about."""
    return Attempt.objects.filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))


@contextmanager
def given_back(attempt: Attempt) -> Iterator[None]:
    """Give the attempt's lease back if the block fails, so that nobody waits for its end."""
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            give_back(attempt)


def give_back(attempt: Attempt) -> None:
    """Let others ask; if the database does not hear this, they wait for the lease's end.

    A lease that somebody else has taken since is theirs, and stays.
    """
    try:
        ours = Attempt.objects.filter(id=attempt.id, lease_until=attempt.lease_until)
        ours.update(lease_until=None)
    except DatabaseError:
        log.warning("lease not given back", attempt=attempt.id, exc_info=True)
