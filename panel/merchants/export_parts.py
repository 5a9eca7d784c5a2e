"""Parts of an export that is too large: the same filter, over spans of time with fewer rows."""

from datetime import datetime
from typing import NamedTuple

from django.http import QueryDict

from core import clock
from core.querysets import MerchantRows
from core.rest import list_walks
from core.rest.list_walks import Newest
from core.rest.lists import ListSpec
from panel.merchants.filter_words import moment_of

# The newest ones; the rest is offered as one, whose page offers its own parts.
PARTS_MOST = 3
BEGIN, END = "created[gte]", "created[lt]"


class Part(NamedTuple):
    """A part of the rows.

    :param query: the whole filter, with the part's time.
    :param begins_at: None where the filter names none.
    :param is_rest: it may again be too large.
    """

    query: str
    begins_at: datetime | None
    ends_at: datetime | None
    is_rest: bool = False


def parts(
    rows: MerchantRows, query: QueryDict, spec: ListSpec, newest: Newest, *, most: int
) -> list[Part]:
    """Return parts with `most` rows at most, the newest first; none if one second has more.

    :param newest: the newest rows of all, one more than `most`.
    :raises DomainError: as `core.rest.lists.page` does.
    """
    found: list[Part] = []
    left = query.copy()
    while newest.number > most and newest.since:
        border = str(clock.unix(newest.since) + 1)
        if left.get(END) == border:
            return []
        newer = left.copy()
        newer[BEGIN] = left[END] = border
        found.append(_part(newer))
        if len(found) == PARTS_MOST:
            return [*found, _part(left)._replace(is_rest=True)]
        newest = list_walks.newest(rows, left, spec, most=most)
    return [*found, _part(left)]


def _part(query: QueryDict) -> Part:
    return Part(query.urlencode(), moment_of(query.get(BEGIN)), moment_of(query.get(END)))
