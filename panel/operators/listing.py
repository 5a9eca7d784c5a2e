"""Lists of the desk: pages between ids, as the API's lists have them (spec: List conventions 1)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from core.errors import ResourceMissing
from core.rest import lists
from core.rest.list_query import CURSORS
from core.rest.lists import ListSpec

ROWS_SHOWN = "25"


class Listed(NamedTuple):
    """A page of rows, with the addresses of the pages around it; None where there is none."""

    rows: Sequence[Any]
    newer: str | None
    older: str | None


def page(request: HttpRequest, rows: QuerySet[Any], *, key: str = "id") -> Listed:
    """Return the page that the address asks for, the newest first: `limit` and the two cursors.

    Other parameters of the address are filters, and stay as they are.

    :param rows: with an index over `key`, so that a page costs the same at any depth.
    :param key: the column of the order, which no two of the rows share.
    :raises ParameterInvalid: a limit that is none.
    :raises ParametersExclusive: both cursors.
    :raises ResourceMissing: a cursor that is no row.
    """
    asked = QueryDict(mutable=True)
    for name in ("limit", *CURSORS):
        if name in request.GET:
            asked.setlist(name, request.GET.getlist(name))
    asked.setdefault("limit", ROWS_SHOWN)
    _require_ids(rows, asked)
    every = rows.model._default_manager.all()
    spec = ListSpec(sort_keys={"created": key})
    found = lists.page(rows, asked, spec, url=request.path, cursors=every)
    backward, forward = "ending_before" in asked, "starting_after" in asked
    has_newer = found.has_more if backward else forward
    has_older = backward or found.has_more
    return Listed(
        found.rows,
        _beside(request, "ending_before", found.rows[:1]) if has_newer else None,
        _beside(request, "starting_after", found.rows[-1:]) if has_older else None,
    )


def _require_ids(rows: QuerySet[Any], asked: QueryDict) -> None:
    for name in CURSORS:
        try:
            for value in asked.getlist(name):
                rows.model._meta.pk.to_python(value)
        except ValidationError:
            raise ResourceMissing(param=name) from None


def _beside(request: HttpRequest, cursor: str, edge: Sequence[Any]) -> str | None:
    if not edge:
        return None
    query = request.GET.copy()
    for name in CURSORS:
        query.pop(name, None)
    query[cursor] = edge[0].pk
    return f"{request.path}?{query.urlencode()}"
