"""The figures of a week as the overview shows them: by currency, with bars and sentences."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from merchants.models import Member
from panel.merchants.figures import DAYS, Figures, Total
from panel.merchants.payment_words import reason_of

# Of the picture, in its own units: bars grow to `HEIGHT`, and a pair stands in `STEP`.
HEIGHT, STEP, WIDTH = 80, 40, 14
CURRENCIES_MOST = 4


class Compared(NamedTuple):
    """An amount or a share, and the one of a week before.

    :param change: in whole percent; None if there was nothing before.
    """

    now: int
    before: int
    change: int | None


class Day(NamedTuple):
    """Two bars: a day, and the same weekday of the week before.

    :param x: where the first bar begins; `x_before` the second.
    :param top: where a bar begins from above, `height` how high it is.
    """

    date: date
    charged: int
    charged_before: int
    x: int
    x_before: int
    height: int
    height_before: int

    @property
    def top(self) -> int:
        return HEIGHT - self.height

    @property
    def top_before(self) -> int:
        return HEIGHT - self.height_before


class Currency(NamedTuple):
    """A currency's week."""

    code: str
    today: Compared
    week: Compared
    paid: int
    days: list[Day]
    has_days: bool


class Success(NamedTuple):
    """The share of tried payments that succeeded, in tenths of a percent."""

    rate: float | None
    before: float | None
    paid: int
    refused: int


class Cause(NamedTuple):
    """A reason of refused payments, with its number.

    :param percent: of all refused payments of the week.
    """

    text: Any
    code: str
    times: int
    percent: int


def currencies(figures: Figures) -> list[Currency]:
    """Return the weeks of the currencies with most payments, those with most first."""
    codes = {total.currency for total in figures.totals}
    found = [_currency(figures, code) for code in codes]
    found.sort(key=lambda one: (-one.paid, -one.week.before, one.code))
    return found[:CURRENCIES_MOST]


def success(figures: Figures) -> Success:
    """Return how many of the payments of the week succeeded; open ones do not count."""
    week = [total for total in figures.totals if total.day > _last_week(figures)]
    before = [total for total in figures.totals if _is_compared(total, figures)]
    return Success(_rate(week), _rate(before), _sum(week, "paid"), _sum(week, "refused"))


def reasons(figures: Figures) -> list[Cause]:
    """Return why payments of the week were refused, the commonest reasons first."""
    refused = success(figures).refused
    found = []
    for error, times in figures.reasons:
        told = reason_of({**error, "message": ""})
        code = error.get("decline_code") or error.get("code") or ""
        text = told.text if told else code
        found.append(Cause(text, code, times, times * 100 // max(refused, times)))
    return found


def refused_url(member: Member) -> str:
    """Return the address of the list of payments that wait for another card."""
    way = reverse("panel:payments", args=[member.merchant_id])
    return f"{way}?{urlencode({'status[]': 'requires_payment_method'})}"


def _currency(figures: Figures, code: str) -> Currency:
    own = [total for total in figures.totals if total.currency == code]
    today, last = figures.today, _last_week(figures)
    week = [total for total in own if total.day > last]
    before = [total for total in own if _is_compared(total, figures)]
    now = _sum((total for total in week if total.day == today), "charged")
    then = _sum((total for total in before if total.day == last), "charged")
    days = _days(figures, own)
    return Currency(
        code,
        _compared(now, then),
        _compared(_sum(week, "charged"), _sum(before, "charged")),
        _sum(week, "paid"),
        days,
        any(day.charged or day.charged_before for day in days),
    )


def _days(figures: Figures, own: list[Total]) -> list[Day]:
    by_day: dict[date, int] = {}
    for total in own:
        by_day[total.day] = by_day.get(total.day, 0) + total.charged
    highest = max(by_day.values(), default=0) or 1
    days = []
    for number in range(DAYS):
        day = figures.today - timedelta(days=DAYS - 1 - number)
        charged, before = by_day.get(day, 0), by_day.get(day - timedelta(days=DAYS), 0)
        heights = (_height(charged, highest), _height(before, highest))
        x = number * STEP + 4
        days.append(Day(day, charged, before, x + WIDTH + 2, x, *heights))
    return days


def _height(amount: int, highest: int) -> int:
    # A bar of the smallest amount is seen.
    return max(2, amount * HEIGHT // highest) if amount else 0


def _last_week(figures: Figures) -> date:
    return figures.today - timedelta(days=DAYS)


def _is_compared(total: Total, figures: Figures) -> bool:
    """Return whether it belongs to the week before, up to the same moment of it."""
    return total.day <= _last_week(figures) and not total.is_late


def _compared(now: int, before: int) -> Compared:
    return Compared(now, before, round((now - before) * 100 / before) if before else None)


def _rate(totals: list[Total]) -> float | None:
    paid, refused = _sum(totals, "paid"), _sum(totals, "refused")
    return paid * 1000 // (paid + refused) / 10 if paid + refused else None


def _sum(totals: Iterable[Total], name: str) -> int:
    return sum(getattr(total, name) for total in totals)
