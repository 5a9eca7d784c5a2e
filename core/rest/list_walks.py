"""Whole lists: the rows that a query finds, page after page, as one file holds them.

Filters, order and search are those of `core.rest.lists`; a query's page and cursors are none
of a file's, so a caller takes them out of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Count, F, Min
from django.http import QueryDict

from core import standby
from core.rest import lists
from core.rest.bounds import column
from core.rest.lists import Listing, ListSpec, Page, Rows, Source


class Newest(NamedTuple):
    """The newest rows of a list.

    :param number: how many they are.
    :param since: when the oldest of them was created; None if there is none.
    """

    number: int
    since: datetime | None


def newest(rows: Rows, query: QueryDict, spec: ListSpec, *, most: int) -> Newest:
    """Return the newest rows that a query finds, up to one more than `most`.

    :raises DomainError: as `lists.page` does.
    """
    [listing] = lists.listings([Source(rows, spec)], query)
    found = lists.newest_first(listing, listing.matching())
    times = found.annotate(at=F(column(found, "created_at"))).values("at")[: most + 1]
    told = times.aggregate(number=Count("*"), since=Min("at"))
    return Newest(told["number"], told["since"])


def walk(rows: Rows, query: QueryDict, spec: ListSpec, *, size: int) -> Iterator[Sequence[Any]]:
    """Return all rows that a query finds, in its order, in pages of `size`.

    Each page is a question of its own, asked when it is wanted, so no transaction need last longer.
    A standby may answer it.

    :raises DomainError: with the first page, as `lists.page` does.
    """
    [listing] = lists.listings([Source(rows, spec)], query)
    wanted = replace(listing.wanted, limit=size)
    edge = None
    has_more = True
    while has_more:
        part = replace(listing, wanted=wanted, edge=edge)
        page: Page = standby.read(partial(_paged, part)).answer
        yield page.rows
        has_more = page.has_more
        edge = wanted.place(page.rows[-1]) if has_more else None


def _paged(part: Listing) -> Page:
    return lists.paged([(part, part.matching())], url="")
