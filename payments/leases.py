"""Who may ask the bank about an attempt: whoever holds its lease, for a bounded real time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone

from core.querysets import MerchantRows
from payments.models import Attempt

log = structlog.get_logger(__name__)


def end() -> datetime:
    """Return until when a lease that begins now keeps others from asking."""
    return timezone.now() + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def take(attempt: Attempt) -> bool:
    """Take the attempt's lease; False if somebody is asking the bank already."""
    return bool(free().filter(id=attempt.id).update(lease_until=end()))


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
    """Let others ask; if the database does not hear this, they wait for the lease's end."""
    try:
        Attempt.objects.filter(id=attempt.id).update(lease_until=None)
    except DatabaseError:
        log.warning("lease not given back", attempt=attempt.id, exc_info=True)
