"""The calendar of value dates: business days are Monday to Friday."""

from calendar import monthrange
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

SATURDAY = 5


def value_dates(captured_on: date, *, parts: int = 1) -> list[date]:
    """Return the dates from which the parts of a charge are available, the first one first.

    Each is the business day after the capture's date, later parts by whole months later. The months
    are counted from the capture's date each time: 31 January, 28 February, 31 March.

    :param captured_on: in the merchant's timezone.
    """
    return [_next_business_day(_months_after(captured_on, count)) for count in range(parts)]


def begins(day: date, timezone: str) -> datetime:
    """Return the moment in which a day begins."""
    return datetime.combine(day, time.min, ZoneInfo(timezone))


def _next_business_day(day: date) -> date:
    following = day + timedelta(days=1)
    while following.weekday() >= SATURDAY:
        following += timedelta(days=1)
    return following


def _months_after(day: date, count: int) -> date:
    years, month = divmod(day.month - 1 + count, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))
