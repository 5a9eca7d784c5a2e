"""Whole lists: the rows that a query finds, page after page, as one file holds them.

Filters, order and search are those of `core.rest.lists`; a query's page and cursors are none
of a file's, so a caller takes them out of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import QueryDict

from core.rest import lists
from core.rest.lists import ListSpec, Rows, Source


def count(rows: Rows, query: QueryDict, spec: ListSpec, *, most: int) -> int:
    """Count the rows that a query finds, up to one more than `most`.

    :raises DomainError: as `lists.page` does.
    """
    [listing] = lists.listings([Source(rows, spec)], query)
    return lists.countable(listing, listing.matching())[: most + 1].count()


def walk(rows: Rows, query: QueryDict, spec: ListSpec, *, size: int) -> Iterator[Sequence[Any]]:
    """Return all rows that a query finds, in its order, in pages of `size`.

    Each page is a question of its own, asked when it is wanted, so no transaction need last longer.

    :raises DomainError: with the first page, as `lists.page` does.
    """
    [listing] = lists.listings([Source(rows, spec)], query)
    wanted = replace(listing.wanted, limit=size)
    edge = None
    has_more = True
    while has_more:
        part = replace(listing, wanted=wanted, edge=edge)
        page = lists.paged([(part, part.matching())], url="")
        yield page.rows
        has_more = page.has_more
        edge = wanted.place(page.rows[-1]) if has_more else None


def moment_behind(rows: Rows, query: QueryDict, spec: ListSpec, *, number: int) -> datetime | None:
    """Return when the row was created that has `number` newer ones; None if there is none.

    :raises DomainError: as `lists.page` does.
    """
    [listing] = lists.listings([Source(rows, spec)], query)
    found = listing.within(listing.matching(), listing.bounds)
    newest = found.order_by(f"-{listing.wanted.created}", "-id")
    return newest.values_list("created_at", flat=True)[number : number + 1].first()
