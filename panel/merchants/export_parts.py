"""Parts of an export that is too large: the same filter, over spans of time with fewer rows."""

from datetime import datetime
from typing import NamedTuple

from django.http import QueryDict

from core import clock
from core.querysets import MerchantRows
from core.rest import list_walks
from core.rest.lists import ListSpec
from panel.merchants.filter_words import moment_of

# The newest ones; the rest is offered as one, whose page offers its own parts.
PARTS_MOST = 5
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


def parts(rows: MerchantRows, query: QueryDict, spec: ListSpec, *, most: int) -> list[Part]:
    """Return parts with `most` rows at most, the newest first; none if one second has more.

    :raises DomainError: as `core.rest.lists.page` does.
    """
    found: list[Part] = []
    left = query.copy()
    while len(found) < PARTS_MOST:
        moment = list_walks.moment_behind(rows, left, spec, number=most)
        if moment is None:
            return [*found, _part(left)]
        border = str(clock.unix(moment) + 1)
        if left.get(END) == border:
            break
        newer = left.copy()
        newer[BEGIN] = left[END] = border
        found.append(_part(newer))
    return [*found, _part(left)._replace(is_rest=True)] if len(found) == PARTS_MOST else []


def _part(query: QueryDict) -> Part:
    return Part(query.urlencode(), moment_of(query.get(BEGIN)), moment_of(query.get(END)))
