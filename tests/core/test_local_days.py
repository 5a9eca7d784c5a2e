"""Days of a time zone begin and end where its clocks say so, also in nights that are odd."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import available_timezones

import pytest

from core import local_days

INSTANT = timedelta(microseconds=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("zone", "day", "begins", "ends"),
    [
        ("Europe/Istanbul", date(2026, 11, 3), utc(2026, 11, 2, 21), utc(2026, 11, 3, 21)),
        # Clocks go from 00:00 to 01:00.
        ("Africa/Cairo", date(2026, 4, 24), utc(2026, 4, 23, 22), utc(2026, 4, 24, 21)),
        ("America/Santiago", date(2026, 9, 6), utc(2026, 9, 6, 4), utc(2026, 9, 7, 3)),
        # From 01:00 back to 00:00: midnight comes twice.
        ("America/Havana", date(2026, 11, 1), utc(2026, 11, 1, 4), utc(2026, 11, 2, 5)),
        # From 24:00 back to 23:00: the last hour comes twice.
        ("America/Santiago", date(2026, 4, 4), utc(2026, 4, 4, 3), utc(2026, 4, 5, 4)),
        # From 23:00 to 24:00: the last hour is left out.
        ("America/Nuuk", date(2026, 3, 28), utc(2026, 3, 28, 2), utc(2026, 3, 29, 1)),
    ],
)
def test_a_day_begins_and_ends_in_an_odd_night(
    zone: str, day: date, begins: datetime, ends: datetime
) -> None:
    assert local_days.begins(day, zone) == begins
    assert local_days.ends(day, zone) == ends - INSTANT


def test_every_day_of_every_zone_follows_the_one_before() -> None:
    tried = 0
    for zone in sorted(available_timezones()):
        # The nights in which some zone's clocks change are among these.
        for month, at in [(3, 1), (4, 1), (9, 1), (10, 20)]:
            for ahead in range(0, 35):
                day = date(2026, month, at) + timedelta(days=ahead)
                begins = local_days.begins(day, zone)
                assert local_days.of(begins, zone) == day, (zone, day)
                assert local_days.of(begins - INSTANT, zone) == day - timedelta(days=1), (zone, day)
                tried += 1
    assert tried > 50_000


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
def test_the_calendars_first_and_last_days_are_days(zone: str) -> None:
    assert local_days.begins(date.min, zone).tzinfo is UTC
    assert local_days.ends(date.max, zone).tzinfo is UTC
    assert local_days.at(date.max, time.max, zone).tzinfo is UTC


def test_the_clocks_of_a_zone_are_shown_and_not_ordered_beside_moments() -> None:
    moment = utc(2026, 4, 23, 22)

    assert local_days.shown(moment, "Africa/Cairo").isoformat() == "2026-04-24T01:00:00"
    with pytest.raises(TypeError):
        assert local_days.shown(moment, "Africa/Cairo") < moment
