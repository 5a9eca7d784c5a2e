"""Pages of lists by the API's own engine, and single rows, as the merchants' pages ask for them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db.models import DateTimeField, ExpressionWrapper, F
from django.http import Http404, QueryDict
from django.utils.translation import gettext_lazy as _

from core.errors import ResourceMissing
from core.querysets import MerchantRows
from core.rest import lists
from core.rest.list_query import CURSORS
from core.rest.lists import ListSpec, Page
from core.rest.parts import Parts
from panel.patience import TookTooLong, limited, tighten

NO_SUCH_PLACE = _("This place of the list is gone. Start again from the newest.")
ROWS_SHOWN = "25"
# The page itself says how many rows it shows, and what comes with them.
PAGES_OWN = ("limit", "include", "expand")
# Beside three for the rows, so that the page ends within five seconds.
COUNT_MS = 1_500
SEARCH = "q"
STATUS = "status"
# So many hits of a search are sorted within a part of a page's time.
SORTED_MOST = 30_000
# Parts of a name that repeats, or that has a bound: `types[]`, `created[gte]`.
BRACKET = "["


def page(
    rows: MerchantRows,
    query: QueryDict,
    spec: ListSpec,
    *,
    cursors: MerchantRows | None = None,
    preset: Mapping[str, str] | None = None,
) -> Page:
    """Return the page of a merchant's rows that an address asks for, 25 of them, newest first.

    Parameters that the list does not know belong to the page around it, and are left out.

    :param cursors: the rows that may be a cursor, if they are more.
    :param preset: parameters of the page itself, such as `include[]`.
    :raises DomainError: as `core.rest.lists.page` does.
    """
    wanted = asked(query, spec)
    wanted["limit"] = ROWS_SHOWN
    for name, value in (preset or {}).items():
        wanted[name] = value
    return lists.page(rows, wanted, spec, url="", cursors=cursors)


def asked(query: QueryDict, spec: ListSpec) -> QueryDict:
    """Return the part of an address that is the list's; an input left empty asks for nothing."""
    found = QueryDict(mutable=True)
    for name, values in query.lists():
        bare = name.partition(BRACKET)[0]
        if bare in spec.names and bare not in PAGES_OWN and any(values):
            found.setlist(name, values)
    return found


def without(query: QueryDict, *names: str) -> QueryDict:
    """Return a copy of an address without its cursors and these parameters.

    :param names: as the API has them, without their brackets.
    """
    left = query.copy()
    gone = {*CURSORS, *names}
    for name in [name for name in left if name.partition(BRACKET)[0] in gone]:
        left.pop(name)
    return left


def counts_by_status(
    rows: MerchantRows, query: QueryDict, spec: ListSpec, page: Page, statuses: Sequence[str]
) -> dict[str, int]:
    """Return how many rows each status has under an address's other filters.

    Nothing if that is not soon counted, or a text is searched for.

    :param page: the page of this address; a list that is whole on it is not counted again.
    """
    every = asked(query, spec)
    others = without(every, STATUS)
    if every == others and page.total_count == len(page.rows):
        return {**dict.fromkeys(statuses, 0), **Counter(row.status for row in page.rows)}
    if SEARCH in every:
        return {}
    try:
        with limited(COUNT_MS):
            return lists.total_of_each(rows, others, spec, Parts(STATUS, statuses))
    except TookTooLong:
        return {}


def counted_page(rows: MerchantRows, query: QueryDict, spec: ListSpec) -> Page:
    """Return the page that an address asks for with the number of all rows, if it is soon counted.

    :raises TookTooLong: the rows were not found in time.
    :raises DomainError: as `core.rest.lists.page` does.
    """
    every = without(asked(query, spec))
    if SEARCH in every:
        return _searched_page(rows, query, every, spec)
    found = None
    try:
        with limited():
            found = page(rows, query, spec)
            if not found.has_more and every == asked(query, spec):
                return replace(found, total_count=len(found.rows))
            tighten(COUNT_MS)
            total = lists.total(rows, every, spec)
    except TookTooLong:
        if found is None:
            raise
        return found
    return replace(found, total_count=total)


def _searched_page(rows: MerchantRows, query: QueryDict, every: QueryDict, spec: ListSpec) -> Page:
    total = None
    try:
        with limited():
            total = lists.total(rows, every, spec, most=SORTED_MOST)
            if total <= SORTED_MOST:
                rows = _found_first(rows)
            return replace(page(rows, query, spec), total_count=min(total, lists.TOTAL_MAX + 1))
    except TookTooLong:
        if total is not None:
            raise
        return page(rows, query, spec)


def _found_first(rows: MerchantRows) -> MerchantRows:
    """Let rows be found before they are sorted.

    PostgreSQL takes it that those with a text lie evenly in time, and goes through the newest ones
    for a page of them: if they are old, through a million. No index is in this order.
    """
    moment = ExpressionWrapper(F("created_at") + timedelta(0), DateTimeField())
    return rows.alias(along_created_at=moment, along_id=F("id"))


def find(rows: MerchantRows, row_id: str) -> Any:
    """Return one of the merchant's rows.

    :raises Http404: there is none; another merchant's, an unknown and a malformed id are alike.
    """
    try:
        return rows.find(row_id)
    except ResourceMissing:
        raise Http404 from None
