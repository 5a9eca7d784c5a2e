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
from core.rest import parts
from core.rest.bounds import Bound, column, columns
from core.rest.filters import Filters, bare
from core.rest.list_query import CURSORS, DEFAULT_SORT, ListQuery, read
from core.rest.parts import Parts

TOTAL_MAX = 10_000
# Parameters of every list; `expand[]` is read by the view, which renders the rows.
CONVENTIONS = ("limit", *CURSORS, "include", "sort", "expand")

Rows = QuerySet[Any]
# The sort key and the id of the row that a cursor names.
Edge = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ListSpec:
    """A resource's own part of a list: its filters, its sort keys, its search.

    :param sort_keys: by the key's name the column, which is never null.
    :param search: narrows rows to what `q` finds; without one there is no `q`.
    :param default_sort: the order when nothing is said; lines have that of their receipt.
    """

    filters: type[Filters] = Filters
    sort_keys: Mapping[str, str] = field(default_factory=lambda: {"created": "created_at"})
    search: Callable[[Any, str], Rows] | None = None
    default_sort: str = DEFAULT_SORT

    @property
    def names(self) -> frozenset[str]:
        """Return the parameters that the list takes, without their brackets."""
        searching = ("q",) if self.search else ()
        filtering = map(bare, self.filters.base_filters)
        return frozenset((*CONVENTIONS, *searching, *filtering))


class Source(NamedTuple):
    """Rows to be listed, and those that may be a cursor where they are more.

    :param filters: those that a view's filter backend has made.
    """

    rows: Rows
    spec: ListSpec
    cursors: Rows | None = None
    filters: Filters | None = None


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


def total(rows: Rows, query: QueryDict, spec: ListSpec, *, most: int | None = None) -> int:
    """Count the rows that a query finds, up to one more than `most`, by default `TOTAL_MAX`.

    :raises DomainError: as `page` does.
    """
    found = [(one, one.matching()) for one in listings([Source(rows, spec)], query)]
    return _count(found, TOTAL_MAX if most is None else most)


def found(rows: Rows, query: QueryDict, spec: ListSpec) -> Rows:
    """Return all rows that a query finds, the newest first, for what pages say of them together.

    :raises DomainError: as `page` does.
    """
    [one] = listings([Source(rows, spec)], query)
    return one.within(one.matching(), one.bounds).order_by(f"-{one.wanted.created}", "-id")


def total_of_each(rows: Rows, query: QueryDict, spec: ListSpec, values: Parts) -> dict[str, int]:
    """Count the rows that a query finds for each value of a column, each as `total` does.

    :param values: of a column that the query does not narrow.
    :raises DomainError: as `page` does.
    """
    [listing] = listings([Source(rows, spec)], query)
    matching = listing.within(listing.matching(), listing.bounds)
    order = columns(matching, (listing.wanted.created, "id"))
    return parts.count_each(matching, values, [f"-{name}" for name in order], TOTAL_MAX + 1)


def merged(sources: Sequence[Source], query: QueryDict, *, url: str) -> Page:
    """Return a page of several tables as if they were one; their specs take the same names.

    :raises DomainError: as `page` does.
    """
    found = listings(sources, query)
    return paged([(one, one.matching()) for one in found], url=url)


@dataclass(frozen=True, slots=True)
class Listing:
    """One table's part of a list, as a query asks for it.

    :param edge: the place of the cursor, None on a first page.
    """

    filters: Filters
    spec: ListSpec
    wanted: ListQuery
    edge: Edge | None

    def matching(self) -> Rows:
        """Return the rows that filters and search find, before ranges of the sort column apply.

        Those become one range of the index together with the edge.

        :raises ResourceMissing: a filter's id is not the merchant's.
        """
        rows = self.filters.apart_from(self.wanted.sort)
        if self.wanted.text is None or self.spec.search is None:
            return rows
        return self.spec.search(rows, self.wanted.text)

    @property
    def bounds(self) -> list[Bound]:
        return self.filters.bounds(self.wanted.sort)

    def within(self, rows: Rows, bounds: Iterable[Bound]) -> Rows:
        for lookup, value in bounds:
            rows = rows.filter(**{f"{column(rows, self.wanted.sort)}__{lookup}": value})
        return rows


def listings(sources: Sequence[Source], query: QueryDict) -> list[Listing]:
    """Read a query whole, before the database is asked anything but the place of the cursor.

    :raises DomainError: as `page` does, except for a filter's id.
    """
    filters = [source.filters or source.spec.filters(query, source.rows) for source in sources]
    spec = sources[0].spec
    wanted = read(
        filters[0].given,
        names=spec.names,
        sort_keys=spec.sort_keys,
        default_sort=spec.default_sort,
    )
    for one in filters:
        one.form.full_clean()
    edge = _edge(sources, wanted)
    return [
        Listing(one, source.spec, wanted, edge)
        for one, source in zip(filters, sources, strict=True)
    ]


def paged(listed: Sequence[tuple[Listing, Rows]], *, url: str) -> Page:
    """Return the page of the rows that each listing found."""
    wanted = listed[0][0].wanted
    found = [row for listing, rows in listed for row in _walk(listing, rows)]
    found.sort(key=wanted.place, reverse=not wanted.is_upward)
    rows = found[: wanted.limit]
    return Page(
        url,
        rows[::-1] if wanted.is_backward else rows,
        has_more=len(found) > wanted.limit,
        total_count=_count(listed, TOTAL_MAX) if wanted.is_counted else None,
    )


def _edge(sources: Sequence[Source], wanted: ListQuery) -> Edge | None:
    """Return the place of the cursor, as it is now, whether or not the filters match it."""
    if wanted.cursor is None:
        return None
    param, row_id = wanted.cursor
    for source in sources:
        rows = source.rows if source.cursors is None else source.cursors
        place = rows.filter(id=row_id).values_list(*wanted.columns).first()
        if place is not None:
            return place
    model = sources[0].rows.model if len(sources) == 1 else None
    raise ResourceMissing(param=param, wanted=model, given=row_id)


def _walk(listing: Listing, rows: Rows) -> list[Any]:
    """Return the rows from the edge on, and one more than a page has if there are so many."""
    wanted = listing.wanted
    bounds, edge = _tighter(listing.bounds, listing.edge, is_upward=wanted.is_upward)
    rows = listing.within(rows, bounds)
    order = columns(rows, wanted.columns)
    if edge is not None:
        rows = rows.filter(_beyond(order, edge, is_upward=wanted.is_upward))
    sign = "" if wanted.is_upward else "-"
    return list(_first(listing, rows, [f"{sign}{name}" for name in order], wanted.limit + 1))


def _first(listing: Listing, rows: Rows, order: Sequence[str], most: int) -> Rows:
    if found := listing.filters.parts(rows):
        return parts.first(rows, found, order, most)
    return rows.order_by(*order)[:most]


def _tighter(
    bounds: Sequence[Bound], edge: Edge | None, *, is_upward: bool
) -> tuple[Sequence[Bound], Edge | None]:
    """Drop the bounds that the cursor implies, or the cursor if a bound implies it.

    PostgreSQL then starts the index scan at one place. Given two, it starts at the one it finds
    first and reads all rows between them: from `created[lt]` down to the cursor.
    """
    if edge is None:
        return bounds, edge
    begins = ("gt", "gte") if is_upward else ("lt", "lte")
    implied = [bound for bound in bounds if bound.lookup in begins and bound.is_met_by(edge[0])]
    left = [bound for bound in bounds if bound not in implied]
    # If the edge lies before a bound, all rows within the bound are beyond the edge.
    return left, None if any(bound.lookup in begins for bound in left) else edge


def _beyond(columns: Sequence[str], edge: Edge, *, is_upward: bool) -> Func:
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


def _count(counted: Sequence[tuple[Listing, Rows]], most: int) -> int:
    """Count the rows, up to one more than `total_count` shows (spec: List conventions 4)."""
    return sum(_number(listing, matching, most + 1) for listing, matching in counted)


def _number(listing: Listing, matching: Rows, most: int) -> int:
    """Count rows in the order of an index, although a count shows no order.

    Without one PostgreSQL may read the table from its beginning, until it has come upon enough
    of the merchant's rows.
    """
    rows = newest_first(listing, matching)
    if found := listing.filters.parts(rows):
        return parts.count(rows, found, [f"-{listing.wanted.created}", "-id"], most)
    if listing.filters.takes_any_of_several:
        rows = rows.order_by()
    return rows[:most].count()


def newest_first(listing: Listing, matching: Rows) -> Rows:
    """Return the keys of the rows, or those of another table that stand for them.

    Its columns `along_…` (`core.rest.bounds.column`) are theirs, then.
    """
    rows = listing.filters.rows_for_counting() if listing.wanted.text is None else None
    if rows is None:
        rows = listing.within(matching, listing.bounds).values("pk")
    order = columns(rows, (listing.wanted.created, "id"))
    return rows.order_by(*(f"-{name}" for name in order))
