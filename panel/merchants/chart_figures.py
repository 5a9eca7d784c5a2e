"""The numbers behind the overview's charts: a merchant's payments in 1, 7, 30 or 90 days.

A payment counts on the day on which it was made, in the merchant's zone. A period ends today; it is
compared with as many days before it, up to the same moment.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from core import clock, local_days
from merchants.models import Merchant
from panel.kept_figures import KeptFigures
from panel.merchants.figures import LIMIT_MS
from payments.intents import day_counts
from payments.intents.day_counts import ENDING, ENDINGS, GROUPS, REASON, Cell, Counted

PERIODS = (1, 7, 30, 90)
BY = [group for group in GROUPS.values() if group not in (ENDING, REASON)]


class Count(NamedTuple):
    """Payments that were counted together.

    :param charged: in minor units, surcharges included.
    :param paid: those that were charged; `refused` those that count against success.
    """

    number: int = 0
    charged: int = 0
    paid: int = 0
    refused: int = 0

    def plus(self, more: "Count | Cell") -> "Count":
        """Return it with others."""
        return Count(
            self.number + more.number,
            self.charged + more.charged,
            self.paid + more.paid,
            self.refused + more.refused,
        )

    @property
    def success(self) -> float | None:
        """Return the share of those that were decided, in percent; None without any."""
        decided = self.paid + self.refused
        return self.paid * 1000 // decided / 10 if decided else None


class Compared(NamedTuple):
    """The payments of a period, and those of as many days before.

    :param change: of the amount that was charged, in whole percent; None if there was none before.
    """

    now: Count
    before: Count
    change: int | None


class Place(NamedTuple):
    """A place along a chart.

    :param hour: the hours of the day that are over, if the chart is about one day; else 0.
    """

    day: date
    hour: int = 0


class ChartFigures(NamedTuple):
    """A period of a merchant's payments in one currency.

    :param slots: by day, or by hour if it is one day, of the merchant's zone.
    :param before: those of the period before, by the slot of this one that it stands next to.
    :param reasons: by `code` and `decline_code`, the declined payments.
    :param groups: by the name of what they are grouped by, and by its value.
    """

    at: datetime
    days: int
    currency: str
    slots: Mapping[Place, Count]
    before: Mapping[Place, Count]
    endings: Mapping[str, int]
    reasons: Mapping[tuple[str, str], int]
    groups: Mapping[str, Mapping[Any, Count]]

    @property
    def first(self) -> date:
        return min(self.slots).day

    @property
    def last(self) -> date:
        return max(self.slots).day

    @property
    def whole(self) -> Count:
        return _sum(self.slots.values())

    @property
    def whole_before(self) -> Count:
        return _sum(self.before.values())

    @property
    def compared(self) -> Compared:
        now, before = self.whole, self.whole_before
        more = now.charged - before.charged
        return Compared(now, before, round(more * 100 / before.charged) if before.charged else None)


class Period(NamedTuple):
    """A period of a merchant's payments in all currencies.

    :param places: of the charts, its days or the 23 to 25 hours of its only one.
    """

    at: datetime
    days: int
    places: Sequence[Place]
    now: Sequence[Counted]
    before: Sequence[Counted]

    @property
    def currencies(self) -> list[str]:
        """Return the currencies of the period and the one before, with most payments first."""
        numbers: dict[str, int] = {}
        for _day, cell in [*self.now, *self.before]:
            if cell.group == ENDING:
                numbers[cell.currency] = numbers.get(cell.currency, 0) + cell.number
        return sorted(numbers, key=lambda code: (-numbers[code], code))

    def of(self, currency: str) -> ChartFigures:
        """Return the figures of a currency."""
        now = [(day, cell) for day, cell in self.now if cell.currency == currency]
        before = [(day, cell) for day, cell in self.before if cell.currency == currency]
        shift = timedelta(days=self.days)
        cells = [cell for _day, cell in now]
        return ChartFigures(
            self.at, self.days, currency,
            {**dict.fromkeys(self.places, Count()), **_slots(now)},
            {Place(place.day + shift, place.hour): one for place, one in _slots(before).items()},
            _endings(cells),
            _reasons(cells),
            {name: _group(cells, name) for name in BY},
        )  # fmt: skip


_kept = KeptFigures[Period]()
forget = _kept.forget


def of(merchant: Merchant, days: int) -> Period | None:
    """Return a period's figures, at most a minute old; None if they take too long to work out."""
    return _kept.of((merchant.id, days), partial(read, merchant, days), limit_ms=LIMIT_MS)


def read(merchant: Merchant, days: int) -> Period:
    """Work a period out, in two statements.

    :param days: of `PERIODS`.
    """
    now, zone = clock.now(), merchant.timezone
    today = local_days.of(now, zone)
    first, last_before = (today - timedelta(days=back) for back in (days - 1, days))
    # The last day before is compared up to the moment that it is now.
    cut = now - timedelta(days=days) + timedelta(microseconds=1)
    part = (local_days.begins(last_before, zone), cut)
    if days == 1:
        found = day_counts.count(merchant, [*day_counts.spans([today], zone), part], by_hour=True)
    else:
        before, period = (_days(one, days) for one in (first - timedelta(days=days), first))
        whole = [*before[:-1], *period]
        found = day_counts.of_days(merchant, whole, part, facts_from=first)
    return Period(
        now, days, _places(zone, first, days),
        [(day, cell) for day, cell in found if day >= first],
        [(day, cell) for day, cell in found if day < first],
    )  # fmt: skip


def _days(first: date, number: int) -> list[date]:
    return [first + timedelta(days=count) for count in range(number)]


def _places(zone: str, first: date, days: int) -> list[Place]:
    """Return the places of a chart: its days, or the 23 to 25 hours of its only one."""
    if days > 1:
        return [Place(day) for day in _days(first, days)]
    [(begin, end)] = day_counts.spans([first], zone)
    return [Place(first, hour) for hour in range(round((end - begin) / timedelta(hours=1)))]


def _slots(counted: Iterable[Counted]) -> dict[Place, Count]:
    found: dict[Place, Count] = {}
    for day, cell in counted:
        if cell.group == ENDING:
            place = Place(day, cell.hour)
            found[place] = found.get(place, Count()).plus(cell)
    return found


def _sum(counts: Iterable[Count]) -> Count:
    whole = Count()
    for one in counts:
        whole = whole.plus(one)
    return whole


def _endings(cells: Iterable[Cell]) -> dict[str, int]:
    found = dict.fromkeys(ENDINGS, 0)
    for cell in cells:
        if cell.group == ENDING:
            found[cell.value] += cell.number
    return found


def _reasons(cells: Iterable[Cell]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for cell in cells:
        if cell.group == REASON:
            code, decline = cell.value
            found[code, decline] = found.get((code, decline), 0) + cell.number
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _group(cells: Iterable[Cell], name: str) -> dict[Any, Count]:
    """Return the payments by the values of a fact, those with most charged first."""
    found: dict[Any, Count] = {}
    for cell in cells:
        if cell.group == name:
            found[cell.value] = found.get(cell.value, Count()).plus(cell)
    return dict(
        sorted(found.items(), key=lambda one: (-one[1].charged, -one[1].number, str(one[0])))
    )
