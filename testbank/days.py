"""The bank's day: it ends at midnight in Istanbul, of the movable clock."""

from datetime import date, datetime, timedelta

from core import local_days

ZONE = "Europe/Istanbul"


def end_of(moment: datetime) -> datetime:
    """Return the end of the bank's day that a moment lies in."""
    return beginning_of(local_days.of(moment, ZONE) + timedelta(days=1))


def beginning_of(day: date) -> datetime:
    """Return the moment at which a day of the bank's begins."""
    return local_days.begins(day, ZONE)
