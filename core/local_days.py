"""Days of a time zone, and the moments at which they begin and end: each leaves here in UTC.

Python compares two moments of one zone by their wall clocks. A day whose midnight was left out
begins at 01:00, so that its beginning is not "equal" to itself; where an hour comes twice, two
moments are "equal" that are an hour apart. So this module alone makes moments of a zone; the
check `devstack.moments` refuses others.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# The calendar's bounds: a day beside them may begin or end beyond.
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def of(moment: datetime, zone: str) -> date:
    """Return the day that a moment lies in.

    :param zone: an IANA name, `Europe/Istanbul`.
    """
    return moment.astimezone(ZoneInfo(zone)).date()


def begins(day: date, zone: str) -> datetime:
    """Return the moment at which a day begins: 01:00 where clocks go forward at midnight."""
    return at(day, time.min, zone)


def ends(day: date, zone: str) -> datetime:
    """Return a day's last instant, also where its last hour comes twice."""
    if day == date.max:
        return _LAST
    return begins(day + timedelta(days=1), zone) - timedelta(microseconds=1)


def at(day: date, clock: time, zone: str) -> datetime:
    """Return the moment at which a zone's clocks show a time for the first time on a day.

    A time that is left out, because clocks go forward, is as long after midnight as on other days.
    """
    try:
        return datetime.combine(day, clock, ZoneInfo(zone)).astimezone(UTC)
    except OverflowError:
        return _FIRST if day.year == date.min.year else _LAST


def shown(moment: datetime, zone: str) -> datetime:
    """Return what a zone's clocks show at a moment: for people, and without the zone.

    Python refuses to say which of it and a moment is the earlier one.
    """
    return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
