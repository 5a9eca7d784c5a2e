"""The one list engine: pages, filters, sorting and search (spec: List conventions).

A page is a range of an index: `(key, id) < (x, y)`, in the order of both. So it costs the
same at any depth, and rows of equal keys are neither skipped nor repeated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.http import QueryDict

from core.errors import ResourceMissing
from core.rest.asked import CURSORS, Asked, read
from core.rest.filters import Bound, Filters, column, columns
from core.rest.query import given

TOTAL_MAX = 10_000
# What every list takes; `expand[]` is read by the view, which renders the rows.
CONVENTIONS = ("limit", *CURSORS, "include", "sort", "expand")

Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class ListSpec:
    """What a resource's list knows beyond the conventions.

    :param sort_keys: by the key's name the column, which is never null.
    :param search: narrows rows to what `q` finds; without one there is no `q`.
    """

    filters: type[Filters] = Filters
    sort_keys: Mapping[str, str] = field(default_factory=lambda: {"created": "created_at"})
    search: Callable[[Any, str], Rows] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Return the parameters that the list takes, without their brackets."""
        searching = ("q",) if self.search else ()
        return frozenset((*CONVENTIONS, *searching, *self.filters.base_filters))


class Source(NamedTuple):
    """Rows to be listed, and those that may be a cursor where they are more."""

    rows: Rows
    spec: ListSpec
    cursors: Rows | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page's rows, and whether more of them lie in its direction."""

    url: str
    rows: Sequence[Any]
    has_more: bool
    total_count: int | None = None

    def envelope(self, items: Sequence[dict[str, Any] | bytes]) -> bytes:
        """Return the list envelope as JSON; items are dicts, or JSON already."""
        body: dict[str, Any] = {"object": "list", "url": self.url, "has_more": self.has_more}
        if self.total_count is not None:
            body["total_count"] = min(self.total_count, TOTAL_MAX)
            body["total_count_capped"] = self.total_count > TOTAL_MAX
        body["data"] = [
            orjson.Fragment(item) if isinstance(item, bytes) else item for item in items
        ]
        return orjson.dumps(body)


def page(
    rows: Rows, query: QueryDict, spec: ListSpec, *, url: str, cursors: Rows | None = None
) -> Page:
    """Return the page of `rows` that a query asks for.

    :param rows: the merchant's rows that the list shows.
    :param cursors: the merchant's rows that may be a cursor, if they are more: deleted ones.
    :raises ParameterInvalid: an unknown parameter, or a value that means nothing.
    :raises ParametersExclusive: both cursors.
    :raises ResourceMissing: a cursor, or a filter's id, that is not the merchant's.
    """
    return merged([Source(rows, spec, cursors)], query, url=url)


def merged(sources: Sequence[Source], query: QueryDict, *, url: str) -> Page:
    """Return a page of several tables as if they were one; their specs take the same names.

    :raises DomainError: as `page` does.
    """
    parameters = given(query)
    spec = sources[0].spec
    asked = read(parameters, names=spec.names, sort_keys=spec.sort_keys)
    # Read whole before the database is asked anything: what means nothing is refused first.
    filters = [source.spec.filters(parameters, source.rows) for source in sources]
    for one in filters:
        one.form.full_clean()
    edge = _edge(sources, asked)
    matching = [
        _Matching(
            _searched(one.apart_from(asked.sort), source.spec, asked),
            asked.sort,
            one.bounds(asked.sort),
        )
        for one, source in zip(filters, sources, strict=True)
    ]
    found = [row for rows in matching for row in _walk(rows, asked, edge)]
    found.sort(key=asked.place, reverse=not asked.is_upward)
    rows = found[: asked.limit]
    return Page(
        url,
        rows[::-1] if asked.is_backward else rows,
        has_more=len(found) > asked.limit,
        total_count=_count(filters, matching, asked) if asked.is_counted else None,
    )


def _edge(sources: Sequence[Source], asked: Asked) -> tuple[Any, ...] | None:
    """Return the place of the cursor, as it is now, whether or not the filters match it."""
    if asked.cursor is None:
        return None
    param, row_id = asked.cursor
    for source in sources:
        rows = source.rows if source.cursors is None else source.cursors
        place = rows.filter(id=row_id).values_list(*asked.columns).first()
        if place is not None:
            return place
    raise ResourceMissing(param=param)


def _searched(rows: Rows, spec: ListSpec, asked: Asked) -> Rows:
    if asked.text is None or spec.search is None:
        return rows
    return spec.search(rows, asked.text)


class _Matching(NamedTuple):
    """The rows that filters and search find, but for the `bounds` of the column `sort`."""

    rows: Rows
    sort: str
    bounds: Sequence[Bound]

    def within(self, bounds: Iterable[Bound]) -> Rows:
        rows = self.rows
        for lookup, value in bounds:
            rows = rows.filter(**{f"{column(rows, self.sort)}__{lookup}": value})
        return rows


def _walk(matching: _Matching, asked: Asked, edge: tuple[Any, ...] | None) -> list[Any]:
    """Return the rows from the edge on, and one more than a page has if there are so many."""
    bounds, edge = _tighter(matching.bounds, edge, is_upward=asked.is_upward)
    rows = matching.within(bounds)
    order = columns(rows, asked.columns)
    if edge is not None:
        rows = rows.filter(_beyond(order, edge, is_upward=asked.is_upward))
    sign = "" if asked.is_upward else "-"
    return list(rows.order_by(*(f"{sign}{name}" for name in order))[: asked.limit + 1])


def _tighter(
    bounds: Sequence[Bound], edge: tuple[Any, ...] | None, *, is_upward: bool
) -> tuple[Sequence[Bound], tuple[Any, ...] | None]:
    """Return bounds and edge without those that others imply, so that one says where to begin.

    Where an index is to be read from two places on PostgreSQL begins at the one that it finds
    first, and reads what lies between: from `created[lt]`, all rows down to the cursor.
    """
    if edge is None:
        return bounds, edge
    begins = ("gt", "gte") if is_upward else ("lt", "lte")
    implied = [bound for bound in bounds if bound.lookup in begins and bound.is_met_by(edge[0])]
    left = [bound for bound in bounds if bound not in implied]
    # Where the edge lies before a bound, all that is within the bound is beyond the edge.
    return left, None if any(bound.lookup in begins for bound in left) else edge


def _beyond(columns: Sequence[str], edge: tuple[Any, ...], *, is_upward: bool) -> Func:
    """Return `ROW(key, id) < ROW(x, y)`, which is one range of an index; an OR is not."""
    # A row's own type is never asked for; Django wants one where its parts differ.
    place = Func(*map(F, columns), function="ROW", output_field=BooleanField())
    limit = Func(*map(Value, edge), function="ROW", output_field=BooleanField())
    return Func(
        place,
        limit,
        template="%(expressions)s",
        arg_joiner=" > " if is_upward else " < ",
        output_field=BooleanField(),
    )


def _count(filters: Sequence[Filters], matching: Sequence[_Matching], asked: Asked) -> int:
    """Count the rows, up to one more than is told (spec: List conventions 4)."""
    both = zip(filters, matching, strict=True)
    return sum(_countable(*one, asked)[: TOTAL_MAX + 1].count() for one in both)


def _countable(filters: Filters, matching: _Matching, asked: Asked) -> Rows:
    """Return the rows in an order, although nobody will see it: an index has it.

    Without one PostgreSQL may read the table from its beginning, until it has come upon enough
    of the merchant's rows.
    """
    rows = filters.stand_ins() if asked.text is None else None
    if rows is None:
        rows = matching.within(matching.bounds).values("pk")
    order = columns(rows, (asked.created, "id"))
    newest = () if filters.takes_any_of_several else (f"-{name}" for name in order)
    return rows.order_by(*newest)
