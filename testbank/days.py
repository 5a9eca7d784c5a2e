"""The bank's day: it ends at midnight in Istanbul, of the movable clock."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Istanbul")


def end_of(moment: datetime) -> datetime:
    """Return the end of the bank's day that a moment lies in."""
    tomorrow = moment.astimezone(ZONE).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time.min, ZONE)


def beginning_of(day: date) -> datetime:
    """Return the moment at which a day of the bank's begins."""
    return datetime.combine(day, time.min, ZONE)
