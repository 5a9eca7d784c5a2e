"""The overview's charts: shapes that templates draw as SVG, each next to its table.

The pictures are for eyes and mice. Keyboards and screen readers have the tables, with the same
numbers and links.
"""

from collections.abc import Sequence
from datetime import timedelta
from string import ascii_uppercase
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.utils.formats import date_format, time_format
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from core import local_days, money
from merchants.models import Member
from panel import permissions
from panel.merchants import chart_figures, chart_lists, hook_hours, money_back, overview_tiles
from panel.merchants.chart_figures import PERIODS, ChartFigures, Count, Place
from panel.merchants.money_back import MoneyBack
from panel.merchants.payment_words import reason_of
from payments.intents.day_counts import (
    BY_RULES,
    CHARGED,
    DECLINED,
    NO_CARD,
    NOT_BACK,
    PAID,
    REFUSED,
    UNDER_WAY,
)

DEFAULT_DAYS = 7
# Of the pictures, in their own units.
WIDTH, HEIGHT, TOP, STRIP = 640, 150, 20, 600
LABELS_MOST, ROWS_MOST = 7, 10

PERIOD_LABELS = {
    1: _("Today"),
    7: _("Seven days"),
    30: _("30 days"),
    90: _("90 days"),
}
ENDING_LABELS = {
    CHARGED: _("Charged"),
    DECLINED: _("Declined by the bank"),
    NOT_BACK: _("Not back from 3-D Secure"),
    BY_RULES: _("Refused by rules"),
    NO_CARD: _("No card given"),
    UNDER_WAY: _("Under way"),
}
# By ending, the statuses of the list that has them, among others.
STATUSES = {
    CHARGED: PAID,
    DECLINED: REFUSED,
    NOT_BACK: REFUSED,
    BY_RULES: REFUSED,
    NO_CARD: (*REFUSED, "requires_confirmation"),
    UNDER_WAY: ("requires_action", "processing"),
}
GROUP_LABELS = {
    "program": _("By card programme"),
    "issuer": _("By issuer"),
    "installments": _("By installments"),
    "domestic": _("Domestic and foreign"),
}


class Slot(NamedTuple):
    """A day, or an hour of today: a bar, a point of two lines, and a row of the table.

    :param said: its label with its amount.
    :param mark: written below it; empty where there is no room.
    :param success_y: of its point; None if no payment was decided.
    """

    label: str
    said: str
    mark: str
    url: str
    payments: Count
    before: int
    x: float
    middle: float
    width: float
    y: float
    height: float
    before_y: float
    success_y: float | None


class Ending(NamedTuple):
    """A way in which payments ended: a part of the strip, with its letter."""

    name: str
    letter: str
    label: Any
    number: int
    percent: float
    url: str
    x: float
    width: float
    middle: float


class Bar(NamedTuple):
    """A row with a bar, of `length` in a hundred."""

    label: Any
    number: int
    length: float
    code: str = ""


class Group(NamedTuple):
    """Payments by one of their facts.

    :param rows: each with its value, the address of its list if a filter has one, and its count.
    """

    name: str
    label: Any
    rows: Sequence[tuple[Any, str, Count]]


def shown(request: HttpRequest, member: Member) -> dict[str, Any]:
    """Return what the charts' part of the overview shows."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in {str(one) for one in PERIODS} else DEFAULT_DAYS
    period = chart_figures.of(member.merchant, days)
    back = money_back.of(member.merchant, days)
    known = period.currencies if period else []
    currency = _currency(request, member, known)
    codes = sorted({*known, *overview_tiles.currencies(back), currency})
    return {
        "period": period,
        "currency": currency,
        "periods": [(PERIOD_LABELS[one], _query(one, currency), one == days) for one in PERIODS],
        "currencies": [
            (code.upper(), _query(days, code), code == currency)
            for code in (codes if len(codes) > 1 else [])
        ],
        "has_any": len(codes) > 1 or bool(known or overview_tiles.currencies(back)),
        "hours": hook_hours.of(member) if permissions.may_open(member, "endpoint") else [],
        **(_shown_of(member, period.of(currency), back) if period else {}),
    }


def _currency(request: HttpRequest, member: Member, known: Sequence[str]) -> str:
    """Return the currency that is asked for, or the one with most payments."""
    currency = request.GET.get("currency", "").lower()
    if currency in settings.CURRENCIES:
        return currency
    return known[0] if known else member.merchant.default_currency


def _query(days: int, currency: str) -> str:
    return urlencode({"days": str(days), "currency": currency})


def _shown_of(member: Member, found: ChartFigures, back: MoneyBack | None) -> dict[str, Any]:
    tiles = overview_tiles.of(member, found, back)
    return {**_pictures(member, found), "tiles": tiles}


def _pictures(member: Member, found: ChartFigures) -> dict[str, Any]:
    slots = _slots(member, found)
    total = sum(found.endings.values())
    highest = max([slot.payments.charged for slot in slots] + [slot.before for slot in slots])
    return {
        "figures": found,
        "charged": found.compared,
        "slots": slots,
        "highest": money.written(highest, found.currency),
        "before_line": _line((slot.middle, slot.before_y) for slot in slots),
        "success_line": _line(
            (slot.middle, slot.success_y) for slot in slots if slot.success_y is not None
        ),
        "endings": _endings(member, found, total),
        "total": total,
        "reasons": _reasons(found),
        "refused_url": chart_lists.payments(member, found, REFUSED),
        "groups": _groups(member, found),
        "bottom": TOP + HEIGHT,
        "sizes": {"width": WIDTH, "top": TOP, "strip": STRIP},
    }


def _slots(member: Member, found: ChartFigures) -> list[Slot]:
    number = len(found.slots)
    befores = [found.before.get(slot, Count()).charged for slot in found.slots]
    highest = max([one.charged for one in found.slots.values()] + befores) or 1
    step, every = WIDTH / number, -(-number // LABELS_MOST)
    slots = []
    for place, ((at, count), before) in enumerate(zip(found.slots.items(), befores, strict=True)):
        height = max(2.0, count.charged * HEIGHT / highest) if count.charged else 0.0
        success = count.success
        slots.append(Slot(
            label=(label := _label(member, found, at, "D j M")),
            said=f"{label}: {money.written(count.charged, found.currency)}",
            mark=_label(member, found, at, "j M") if place % every == every // 2 else "",
            url=chart_lists.payments(member, found, (), at), payments=count, before=before,
            x=round(place * step + step * 0.15, 1), middle=round((place + 0.5) * step, 1),
            width=round(step * 0.7, 1), y=round(TOP + HEIGHT - height, 1), height=round(height, 1),
            before_y=round(TOP + HEIGHT - before * HEIGHT / highest, 1),
            success_y=None if success is None else round(TOP + HEIGHT * (1 - success / 100), 1),
        ))  # fmt: skip
    return slots


def _line(points: Any) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def _label(member: Member, found: ChartFigures, at: Place, form: str) -> str:
    """Return a day in a form of Django's; of the only day the hour that its clocks show."""
    if found.days > 1:
        return date_format(at.day, form)
    zone = member.merchant.timezone
    moment = local_days.begins(at.day, zone) + timedelta(hours=at.hour)
    return time_format(local_days.shown(moment, zone).time(), "H:i")


def _endings(member: Member, found: ChartFigures, total: int) -> list[Ending]:
    endings, x = [], 0.0
    for letter, (name, number) in zip(ascii_uppercase, found.endings.items(), strict=False):
        width = number * STRIP / total if total else 0.0
        endings.append(Ending(
            name, letter, ENDING_LABELS[name], number, number * 1000 // max(total, 1) / 10,
            chart_lists.payments(member, found, STATUSES[name]),
            round(x, 1), round(max(width - 2, min(width, 1)), 1), round(x + width / 2, 1),
        ))  # fmt: skip
        x += width
    return endings


def _reasons(found: ChartFigures) -> list[Bar]:
    most = max(found.reasons.values(), default=1)
    bars = []
    for (code, decline), number in [*found.reasons.items()][:ROWS_MOST]:
        told = reason_of({"code": code, "decline_code": decline, "message": ""})
        bars.append(Bar(told.text if told else code, number, number * 100 / most, decline or code))
    return bars


def _groups(member: Member, found: ChartFigures) -> list[Group]:
    groups = []
    for name, label in GROUP_LABELS.items():
        counted = [*found.groups[name].items()][:ROWS_MOST]
        rows = [
            (_value(name, one), _list_of_group(member, found, name, one), count)
            for one, count in counted
        ]
        groups.append(Group(name, label, rows))
    return groups


def _list_of_group(member: Member, found: ChartFigures, name: str, value: Any) -> str:
    """Return the address of the list of a fact's payments, by the filter that has its name.

    Nothing for payments without the fact: no filter finds these.
    """
    if value is None:
        return ""
    return f"{chart_lists.payments(member, found, ())}&{urlencode({name: value})}"


def _value(name: str, value: Any) -> Any:
    if value is None:
        return _("None, or unknown")
    if name == "domestic":
        return _("Domestic") if value == "true" else _("Foreign")
    return value
