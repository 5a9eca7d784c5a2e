"""One page of a list, newest first (spec: List conventions 1–3)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import Model, Q, QuerySet

from core.errors import ParameterInvalid, ResourceMissing

LIMIT = re.compile(r"[1-9][0-9]?|100", re.ASCII)
LIMIT_DEFAULT = 10
ARGUMENTS = ("limit", "starting_after")
NEWEST = ("-created_at", "-id")
# For rows whose ids alone say which is newer.
NEWEST_BY_ID = ("-id",)


@dataclass(frozen=True, slots=True)
class Page:
    """A page's rows, and whether another page follows."""

    url: str
    rows: Sequence[Any]
    has_more: bool

    def envelope(self, items: Sequence[dict[str, Any] | bytes]) -> bytes:
        """Return the list envelope as JSON; items are dicts, or JSON already."""
        fragments = [orjson.Fragment(item) if isinstance(item, bytes) else item for item in items]
        body = {"object": "list", "url": self.url, "has_more": self.has_more, "data": fragments}
        return orjson.dumps(body)


def page(
    rows: QuerySet[Any],
    query: Mapping[str, str],
    *,
    url: str,
    cursors: QuerySet[Any] | None = None,
    order: tuple[str, ...] = NEWEST,
) -> Page:
    """Return the page that `limit` and `starting_after` ask for.

    :param rows: the merchant's rows, with `created_at` and `id`.
    :param cursors: the rows that may be a cursor, where they are more than those listed.
    :param order: `NEWEST` or `NEWEST_BY_ID`.
    :raises ParameterInvalid: `limit` is not 1 to 100.
    :raises ResourceMissing: `starting_after` is no row of the merchant's.
    """
    limit = _limit(query.get("limit"))
    after = query.get("starting_after")
    if after is not None:
        cursor = _cursor(rows if cursors is None else cursors, after)
        rows = rows.filter(_beyond(cursor, order))
    found = list(rows.order_by(*order)[: limit + 1])
    return Page(url, found[:limit], len(found) > limit)


def _limit(text: str | None) -> int:
    if text is None:
        return LIMIT_DEFAULT
    if not LIMIT.fullmatch(text):
        raise ParameterInvalid("Must be an integer from 1 to 100.", param="limit")
    return int(text)


def _cursor(rows: QuerySet[Any], row_id: str) -> Model:
    row = rows.filter(id=row_id).first()
    if row is None:
        raise ResourceMissing(param="starting_after")
    return row


def _beyond(cursor: Any, order: tuple[str, ...]) -> Q:
    if order == NEWEST_BY_ID:
        return Q(id__lt=cursor.id)
    # The first condition lets the index find the place; the second settles equal instants.
    return Q(created_at__lte=cursor.created_at) & (
        Q(created_at__lt=cursor.created_at) | Q(id__lt=cursor.id)
    )
