"""The test bank's day: it ends at midnight in Istanbul."""

from datetime import datetime, timedelta

from core import local_days

ISTANBUL = "Europe/Istanbul"


def end_of(moment: datetime) -> datetime:
    """Return the end of the day that a moment lies in."""
    return local_days.begins(local_days.of(moment, ISTANBUL) + timedelta(days=1), ISTANBUL)
