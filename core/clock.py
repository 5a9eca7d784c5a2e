"""The movable clock: what "now" means for objects, due times and expiries.

Real time drives signatures, leases, deadlines and rate limits instead; they use
`time` directly. The offset is kept in the database so that every process, the
test bank's too, sees the same now.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings

from core import context
from core.models import Clock


def now() -> datetime:
    """Return the service's now, in UTC.

    In a sandbox the offset is read once per piece of work; a live installation's
    clock does not move and is not asked.
    """
    return moved(datetime.now(UTC))


def moved(real: datetime) -> datetime:
    """Return what the service's clock showed at a moment of real time."""
    return real + timedelta(seconds=_offset_seconds())


def unix(moment: datetime) -> int:
    """Return a moment as the API writes it: whole unix seconds."""
    return int(moment.timestamp())


def _offset_seconds() -> float:
    if settings.LIVEMODE:
        return 0.0
    work = context.current()
    if work is None:
        return _stored_offset()
    if work.clock_offset_seconds is None:
        work.clock_offset_seconds = _stored_offset()
    return work.clock_offset_seconds


def _stored_offset() -> float:
    row = Clock.objects.using("default").values_list("offset_seconds", flat=True).first()
    return row or 0.0
