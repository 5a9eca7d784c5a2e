"""The figures above the overview's charts; each leads to the list of what it counts."""

from collections.abc import Iterator, Mapping

from django.utils import formats
from django.utils.translation import gettext, ngettext

from core import money
from merchants.models import Member
from panel.merchants import chart_lists
from panel.merchants.chart_figures import ChartFigures
from panel.merchants.dispute_tiles import Tile
from panel.merchants.money_back import DISPUTED, GIVEN_BACK, MoneyBack, Sum
from payments.intents.day_counts import PAID, REFUSED

UP, DOWN = ("▲", "good"), ("▼", "bad")


def of(member: Member, found: ChartFigures, back: MoneyBack | None) -> list[Tile]:
    """Return the tiles of a period; without refunds and disputes if these took too long."""
    tiles = [_charged(member, found), _payments(member, found), _success(member, found)]
    if back:
        tiles += [_given_back(member, found, back.refunds), _disputed(member, found, back.disputes)]
    return tiles


def currencies(back: MoneyBack | None) -> set[str]:
    """Return the currencies in which something was given back or disputed."""
    return {*back.refunds, *back.disputes} if back else set()


def _charged(member: Member, found: ChartFigures) -> Tile:
    now, before, change = found.compared
    about = gettext("nothing in as many days before")
    if change is not None:
        about = gettext("%(change)s on %(before)s before") % {
            "change": _signed(_percent(abs(change), 0), change),
            "before": money.written(before.charged, found.currency),
        }
    return Tile(
        gettext("Charged in %(code)s") % {"code": found.currency.upper()},
        money.written(now.charged, found.currency), about,
        url=chart_lists.payments(member, found, PAID), mark=_mark(change or 0),
    )  # fmt: skip


def _payments(member: Member, found: ChartFigures) -> Tile:
    paid, about = found.whole.paid, gettext("no payment was charged")
    if paid:
        average = money.written(round(found.whole.charged / paid), found.currency)
        about = gettext("%(amount)s on average") % {"amount": average}
    url = chart_lists.payments(member, found, PAID)
    return Tile(gettext("Charged payments"), _number(paid), about, url=url)


def _success(member: Member, found: ChartFigures) -> Tile:
    now, before = found.whole.success, found.whole_before.success
    about, more = gettext("nothing in as many days before"), 0.0
    if before is not None:
        about = gettext("%(share)s before") % {"share": _percent(before, 1)}
        if now is not None:
            more = round(now - before, 1)
            points = _signed(formats.number_format(abs(more), decimal_pos=1), more)
            about = gettext("%(points)s points on %(share)s before") % {
                "points": points, "share": _percent(before, 1),
            }  # fmt: skip
    return Tile(
        gettext("Success"), "–" if now is None else _percent(now, 1), about,
        url=chart_lists.payments(member, found, (*PAID, *REFUSED)), mark=_mark(more),
    )  # fmt: skip


def _given_back(member: Member, found: ChartFigures, sums: Mapping[str, Sum]) -> Tile:
    own, charged = sums.get(found.currency, Sum()), found.whole.charged
    about = gettext("no refund")
    if own.number:
        words = ngettext(
            "%(amount)s in %(number)s refund", "%(amount)s in %(number)s refunds", own.number
        )
        amount = money.written(own.amount, found.currency)
        about = words % {"amount": amount, "number": _number(own.number)}
    return Tile(
        gettext("Given back"), _percent(100 * own.amount / charged, 1) if charged else "–",
        "; ".join([about, *_elsewhere(found, sums)]),
        url=chart_lists.in_all_currencies(member, found, "panel:refunds", GIVEN_BACK),
    )  # fmt: skip


def _disputed(member: Member, found: ChartFigures, sums: Mapping[str, Sum]) -> Tile:
    own, paid = sums.get(found.currency, Sum()), found.whole.paid
    number = _number(own.number)
    if paid:
        of_all = {"number": number, "whole": _number(paid)}
        about = gettext("%(number)s of %(whole)s") % of_all
    else:
        about = ngettext("%(number)s dispute", "%(number)s disputes", own.number)
        about %= {"number": number}
    return Tile(
        gettext("Disputed payments"), _percent(100 * own.number / paid, 2) if paid else "–",
        "; ".join([about, *_elsewhere(found, sums)]),
        url=chart_lists.in_all_currencies(member, found, "panel:disputes", DISPUTED),
    )  # fmt: skip


def _elsewhere(found: ChartFigures, sums: Mapping[str, Sum]) -> Iterator[str]:
    """Say how many more the list has: no filter of refunds and disputes knows the currency."""
    if more := sum(one.number for code, one in sums.items() if code != found.currency):
        yield gettext("%(number)s more in other currencies") % {"number": _number(more)}


def _number(value: int) -> str:
    return formats.number_format(value, force_grouping=True)


def _percent(value: float, decimals: int) -> str:
    return gettext("%(number)s %%") % {"number": formats.number_format(value, decimal_pos=decimals)}


def _signed(written: str, change: float) -> str:
    sign = "+" if change > 0 else "\N{MINUS SIGN}" if change < 0 else ""
    return f"{sign}{written}"


def _mark(change: float) -> tuple[str, str]:
    return UP if change > 0 else DOWN if change < 0 else ("", "")
