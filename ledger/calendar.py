"""The calendar of value dates: business days, and the dates of a charge's parts.

A business day is Monday to Friday and no public holiday of the merchant's country: none that the
`holidays` package knows, religious feasts included, and operators have not taken away, and none
that operators have added. Half days count as business days (contract-money: value dates).
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

import holidays

from ledger.models import HolidayChange

SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Calendar:
    """The business days of a country; no other place knows them.

    :param added: holidays by operators; `removed`: dates that are none, by operators.
    """

    country: str
    added: frozenset[date] = frozenset()
    removed: frozenset[date] = frozenset()

    def is_business_day(self, day: date) -> bool:
        """Return whether banks of the country settle on a day."""
        if day.weekday() >= SATURDAY or day in self.added:
            return False
        return day in self.removed or day not in _public_holidays(self.country, day.year)

    def business_day(self, day: date, *, after: int = 1) -> date:
        """Return the business day a number of days after a day; with 0, that day or the next."""
        for _ in range(after):
            day = self._this_or_next(day + timedelta(days=1))
        return self._this_or_next(day)

    def _this_or_next(self, day: date) -> date:
        while not self.is_business_day(day):
            day += timedelta(days=1)
        return day


def of(country: str) -> Calendar:
    """Return the calendar of a country as operators have it now.

    :param country: two capital letters; one that the package does not know has no holidays of its.
    """
    changes = HolidayChange.objects.filter(country=country)
    return changed(country, changes.values_list("date", "is_holiday"))


def changed(country: str, changes: Iterable[tuple[date, bool]]) -> Calendar:
    """Return a country's calendar with dates that are holidays (True), or are none."""
    given = dict(changes)
    added = frozenset(day for day, is_holiday in given.items() if is_holiday)
    return Calendar(country, added, frozenset(given) - added)


def value_dates(
    captured_on: date, *, calendar: Calendar, delay_days: int = 1, parts: int = 1
) -> list[date]:
    """Return the dates from which the parts of a charge are available, the first one first.

    Each is so many business days after the capture's date, later parts by whole months later. The
    months are counted from the capture's date each time: 31 January, 28 February, 31 March.

    :param captured_on: in the merchant's timezone.
    """
    begun = (_months_after(captured_on, count) for count in range(parts))
    return [calendar.business_day(day, after=delay_days) for day in begun]


@cache
def _public_holidays(country: str, year: int) -> frozenset[date]:
    # By year, and not the package's own object: it fills itself while it is read, which two
    # threads must not do at once.
    try:
        return frozenset(holidays.country_holidays(country, years=year, expand=False))
    except NotImplementedError:
        return frozenset()


def _months_after(day: date, count: int) -> date:
    years, month = divmod(day.month - 1 + count, 12)
    year, month = day.year + years, month + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))
