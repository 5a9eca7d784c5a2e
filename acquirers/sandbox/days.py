"""The test bank's day: it ends at midnight in Istanbul."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

ISTANBUL = ZoneInfo("Europe/Istanbul")


def end_of(moment: datetime) -> datetime:
    """Return the end of the day that a moment lies in, in the moment's own zone."""
    next_day = moment.astimezone(ISTANBUL).date() + timedelta(days=1)
    return datetime.combine(next_day, time(), ISTANBUL).astimezone(moment.tzinfo)
