"""The movable clock: what "now" means for objects, due times and expiries.

Real time drives signatures, leases, deadlines and rate limits instead; they use
`time` directly. The offset is kept in the database so that every process, the
test bank's too, sees the same now.
"""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection

from core import context

FARTHEST = timedelta(days=3652)
# For a statement that is asked at the beginning of a piece of work: `note_offset` takes the value.
OFFSET_COLUMN = "(SELECT offset_seconds FROM core_clock)"


def now() -> datetime:
    """Return the service's now, in UTC.

    In a sandbox the offset is read once per piece of work; a live installation's
    clock does not move and is not asked.
    """
    return moved(datetime.now(UTC))


def moved(real: datetime) -> datetime:
    """Return what the service's clock showed at a moment of real time."""
    return real + timedelta(seconds=offset_seconds())


def advance(span: timedelta) -> None:
    """Move the clock forward; every process sees it with its next piece of work.

    :raises ValueError: the span is negative, or it would lead too far for a calendar.
    """
    if span < timedelta(0):
        raise ValueError("the clock only moves forward")
    if offset_seconds() + span.total_seconds() > FARTHEST.total_seconds():
        raise ValueError("the clock moves ten years at most")
    with connection.cursor() as cursor:
        # One statement, so that two advances at once both count.
        cursor.execute(
            "INSERT INTO core_clock (id, offset_seconds) VALUES (1, %s) ON CONFLICT (id)"
            " DO UPDATE SET offset_seconds = core_clock.offset_seconds + EXCLUDED.offset_seconds",
            [span.total_seconds()],
        )


def unix(moment: datetime) -> int:
    """Return a moment as the API writes it: whole unix seconds."""
    return int(moment.timestamp())


def offset_seconds() -> float:
    """Return how far the service's now is ahead of real time."""
    if settings.LIVEMODE:
        return 0.0
    work = context.current()
    if work is None:
        return _stored_offset()
    if work.clock_offset_seconds is None:
        work.clock_offset_seconds = _stored_offset()
    return work.clock_offset_seconds


def note_offset(seconds: float | None) -> None:
    """Spare the current work its question: another statement's `OFFSET_COLUMN` has answered it."""
    work = context.current()
    if work and work.clock_offset_seconds is None:
        work.clock_offset_seconds = seconds or 0.0


def _stored_offset() -> float:
    # Building it as a queryset takes longer than reading the row.
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {OFFSET_COLUMN}")
        return cursor.fetchone()[0] or 0.0
