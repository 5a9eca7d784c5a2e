"""The line of each currency's balance over 30 days, as the balance draws it, next to its table.

The picture is for eyes and mice; keyboards and screen readers have the table, with the same
numbers and links.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.http import urlencode

from core import clock, local_days, money
from ledger import day_sums
from merchants.models import Merchant
from panel.kept_figures import KeptFigures
from panel.merchants import listing

DAYS = 30
# Of the picture, in its own units; with room for the line's own width.
WIDTH, HEIGHT, MARGIN = 240, 48, 3


class Point(NamedTuple):
    """The balance when a day ended; of today as it is now.

    :param url: of the day's movements.
    :param left: of the day's part of the picture, which is `BalanceLine.step` wide.
    """

    day: date
    balance: int
    said: str
    url: str
    left: float
    x: float
    y: float


class BalanceLine(NamedTuple):
    """A currency's points, the first day first.

    :param line: the corners of the line; `area` those of what is between it and zero.
    :param zero_y: of the line that stands for zero.
    """

    points: Sequence[Point]
    line: str
    area: str
    zero_y: float
    step: float


_kept = KeptFigures[dict[str, list[int]]]()
forget = _kept.forget


def of(merchant: Merchant, now: Mapping[str, int]) -> dict[str, BalanceLine]:
    """Return by currency the lines of those whose balance has changed in 30 days.

    None at all if they take too long to work out.

    :param now: by currency, what is available and pending now, in minor units.
    """
    zone = merchant.timezone
    today = local_days.of(clock.now(), zone)
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    ends = [local_days.begins(day, zone) for day in days[1:]]
    before = _kept.of(
        (merchant.id, ends[0], *now),
        partial(day_sums.balances_at, merchant.id, [*now], ends),
        limit_ms=listing.COUNT_MS,
    )
    if before is None:
        return {}
    sums = {currency: [*before[currency], amount] for currency, amount in now.items()}
    return {
        currency: _line(merchant, currency, [*zip(days, amounts, strict=True)])
        for currency, amounts in sums.items()
        if len({*amounts}) > 1
    }


def _line(merchant: Merchant, currency: str, found: Sequence[tuple[date, int]]) -> BalanceLine:
    amounts = [0, *(amount for _day, amount in found)]
    lowest, highest = min(amounts), max(amounts)
    step = WIDTH / len(found)

    def height(amount: int) -> float:
        share = (highest - amount) / (highest - lowest)
        return round(MARGIN + share * (HEIGHT - 2 * MARGIN), 1)

    points = [
        Point(
            day, amount, f"{date_format(day, 'D j M')}: {money.written(amount, currency)}",
            _movements(merchant, currency, day),
            round(place * step, 1), round((place + 0.5) * step, 1), height(amount),
        )
        for place, (day, amount) in enumerate(found)
    ]  # fmt: skip
    zero = height(0)
    corners = " ".join(f"{one.x},{one.y}" for one in points)
    area = f"{points[0].x},{zero} {corners} {points[-1].x},{zero}"
    return BalanceLine(points, corners, area, zero, round(step, 1))


def _movements(merchant: Merchant, currency: str, day: date) -> Any:
    asked = {"currency": currency, "created_from": day.isoformat(), "created_to": day.isoformat()}
    return f"{reverse('panel:movements', args=[merchant.id])}?{urlencode(asked)}"
