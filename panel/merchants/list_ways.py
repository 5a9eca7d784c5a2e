"""The ways above a list: a tab for each status with its number, and days as choices.

Each is a link: the list's address with one part of it changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.http import QueryDict
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import clock, local_days
from core.rest.lists import TOTAL_MAX
from panel import statuses
from panel.merchants.listing import STATUS, without

BEGIN, END = "created[gte]", "created[lt]"
ANY_TIME = _("Any time")


class ListWay(NamedTuple):
    """A link to the same list under another filter.

    :param number: of its rows, written; nothing if it is not known.
    """

    label: str | Promise
    url: str
    is_current: bool
    number: str = ""


class StatusTab(NamedTuple):
    """A tab of several statuses that are one to people; it is shown although it has no row.

    :param sort: the order of its rows, by the API's sort keys; the list's own if there is none.
    """

    label: str | Promise
    statuses: tuple[str, ...]
    sort: str = ""


def statuses_of(values: Sequence[str | StatusTab]) -> list[str]:
    """Return the statuses of all tabs."""
    return [one for value in values for one in _tab(value).statuses]


def tabs(
    query: QueryDict, values: Sequence[str | StatusTab], counts: Mapping[str, int]
) -> list[ListWay]:
    """Return a tab for all statuses, and one for each that has rows or is chosen.

    Tabs of several statuses stand before the one for all.

    :param query: the address that the list has now.
    :param counts: by status; empty if they are not known.
    """
    others = _without_own_sort(without(query, STATUS), values)
    chosen = {
        value
        for name, given in query.lists()
        if name.partition("[")[0] == STATUS
        for value in given
        if value
    }
    whole = _written(sum(counts.values())) if counts else ""
    every = ListWay(gettext("All"), _url(others), not chosen, whole)
    found = [
        _way(others, _tab(value), chosen, counts)
        for value in values
        if isinstance(value, StatusTab) or not counts or counts[value] or chosen == {value}
    ]
    has_groups = any(isinstance(value, StatusTab) for value in values)
    return [*found, every] if has_groups else [every, *found]


def _tab(value: str | StatusTab) -> StatusTab:
    if isinstance(value, StatusTab):
        return value
    return StatusTab(statuses.badge(value).word, (value,))


def _way(others: QueryDict, tab: StatusTab, chosen: set[str], counts: Mapping[str, int]) -> ListWay:
    number = sum(counts[one] for one in tab.statuses) if counts else None
    asked = others.copy()
    asked.setlist(f"{STATUS}[]", [*tab.statuses])
    if tab.sort:
        asked["sort"] = tab.sort
    written = "" if number is None else _written(number)
    return ListWay(tab.label, _url(asked), chosen == {*tab.statuses}, written)


def _without_own_sort(query: QueryDict, values: Sequence[str | StatusTab]) -> QueryDict:
    """Return an address without the order that a tab alone has brought."""
    own = {value.sort for value in values if isinstance(value, StatusTab) and value.sort}
    return without(query, "sort") if query.get("sort") in own else query


def days(query: QueryDict, zone: str) -> list[ListWay]:
    """Return the choices of days, the merchant's; the one that the address has now is current.

    :param query: the address that the list has now.
    """
    others = without(query, "created")
    now = {name: query[name] for name in query if name.partition("[")[0] == "created"}
    return [
        ListWay(ANY_TIME, _url(others), not any(now.values())),
        *(
            ListWay(label, _url(others, **bounds), now == bounds)
            for label, bounds in _choices(local_days.of(clock.now(), zone), zone)
        ),
    ]


def _choices(today: date, zone: str) -> Iterator[tuple[Any, dict[str, str]]]:
    def since(begin: date) -> dict[str, str]:
        return {BEGIN: str(clock.unix(local_days.begins(begin, zone)))}

    def between(begin: date, end: date) -> dict[str, str]:
        return {**since(begin), END: str(clock.unix(local_days.begins(end, zone)))}

    month = today.replace(day=1)
    yesterday = today - timedelta(days=1)
    yield _("Today"), since(today)
    yield _("Yesterday"), between(yesterday, today)
    yield _("7 days"), since(today - timedelta(days=6))
    yield _("This month"), since(month)
    yield _("Last month"), between((month - timedelta(days=1)).replace(day=1), month)


def _written(count: int) -> str:
    more = "+" if count > TOTAL_MAX else ""
    return number_format(min(count, TOTAL_MAX), force_grouping=True) + more


def _url(query: QueryDict, **changed: str) -> str:
    asked = query.copy()
    for name, value in changed.items():
        asked[name] = value
    return f"?{asked.urlencode()}"
