"""The one list engine: pages, filters, sorting and search (spec: List conventions).

A page is a range of an index: `(key, id) < (x, y)`, in the order of both. So it costs the
same at any depth, and rows of equal keys are neither skipped nor repeated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.http import QueryDict

from core.errors import DomainError, ResourceMissing
from core.rest.filters import Filters, column
from core.rest.query import Given, array, given, scalar

LIMIT = re.compile(r"[1-9][0-9]?|100", re.ASCII)
LIMIT_DEFAULT = 10
TOTAL_MAX = 10_000
SEARCH_MAX = 255  # Characters; what a description is indexed by.
CURSORS = ("starting_after", "ending_before")
# What every list takes; `expand[]` is read by the view, which renders the rows.
CONVENTIONS = ("limit", *CURSORS, "include", "sort", "expand")

Rows = QuerySet[Any]


class ParametersExclusive(DomainError):
    code = "parameters_exclusive"
    message = "Give starting_after or ending_before, not both."


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
    asked = _asked(parameters, sources[0].spec)
    # Read whole before the database is asked anything: what means nothing is refused first.
    filters = [source.spec.filters(parameters, source.rows) for source in sources]
    for one in filters:
        one.form.full_clean()
    edge = _edge(sources, asked)
    matching = [
        _searched(one.qs, source.spec, asked) for one, source in zip(filters, sources, strict=True)
    ]
    found = [row for rows in matching for row in _walk(rows, asked, edge)]
    found.sort(key=asked.place, reverse=not asked.is_upward)
    rows = found[: asked.limit]
    return Page(
        url,
        rows[::-1] if asked.is_backward else rows,
        has_more=len(found) > asked.limit,
        total_count=_count(matching) if asked.is_counted else None,
    )


# --- What is asked for ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """The conventions' part of a query.

    :param cursor: its parameter's name and the id, None on a first page.
    :param sort: the column that the list is sorted by.
    :param text: what is searched for.
    """

    limit: int
    cursor: tuple[str, str] | None
    sort: str
    is_ascending: bool
    is_counted: bool
    text: str | None

    @property
    def is_backward(self) -> bool:
        return self.cursor is not None and self.cursor[0] == "ending_before"

    @property
    def is_upward(self) -> bool:
        """Tell whether the rows are read from small to large."""
        return self.is_ascending != self.is_backward

    def place(self, row: Any) -> tuple[Any, ...]:
        """Return where a row stands; no other row stands there."""
        return tuple(getattr(row, name) for name in self.columns)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys((self.sort, "id")))


def _asked(parameters: Mapping[str, list[Given]], spec: ListSpec) -> _Asked:
    for name, written in parameters.items():
        if name not in spec.names:
            raise written[0].refusal()
    sort, is_ascending = _sort(parameters.get("sort"), spec)
    return _Asked(
        limit=_limit(parameters.get("limit")),
        cursor=_cursor(parameters),
        sort=sort,
        is_ascending=is_ascending,
        is_counted=_is_counted(parameters.get("include", [])),
        text=_text(parameters.get("q")),
    )


def _limit(written: list[Given] | None) -> int:
    if not written:
        return LIMIT_DEFAULT
    text = scalar(written)
    if not LIMIT.fullmatch(text):
        raise written[0].refusal("Must be an integer from 1 to 100.")
    return int(text)


def _cursor(parameters: Mapping[str, list[Given]]) -> tuple[str, str] | None:
    cursors = [(name, scalar(parameters[name])) for name in CURSORS if name in parameters]
    if len(cursors) > 1:
        raise ParametersExclusive(param=CURSORS[1])
    return cursors[0] if cursors else None


def _sort(written: list[Given] | None, spec: ListSpec) -> tuple[str, bool]:
    text = scalar(written) if written else "-created"
    key = text.removeprefix("-")
    if written and key not in spec.sort_keys:
        raise written[0].refusal(f"Must be one of: {', '.join(spec.sort_keys)}, with - or without.")
    return spec.sort_keys[key], key == text


def _is_counted(written: list[Given]) -> bool:
    for parameter in written:
        if any(value != "total_count" for value in parameter.values):
            raise parameter.refusal("Only total_count can be included.")
    return bool(array(written))


def _text(written: list[Given] | None) -> str | None:
    if not written:
        return None
    text = scalar(written).strip()
    if not 1 <= len(text) <= SEARCH_MAX:
        raise written[0].refusal(f"Must have 1 to {SEARCH_MAX} characters.")
    return text


# --- Reading ----------------------------------------------------------------------------------


def _edge(sources: Sequence[Source], asked: _Asked) -> tuple[Any, ...] | None:
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


def _searched(rows: Rows, spec: ListSpec, asked: _Asked) -> Rows:
    if asked.text is None or spec.search is None:
        return rows
    return spec.search(rows, asked.text)


def _walk(rows: Rows, asked: _Asked, edge: tuple[Any, ...] | None) -> list[Any]:
    """Return the rows from the edge on, and one more than a page has if there are so many."""
    columns = [column(rows, name) for name in asked.columns]
    if edge is not None:
        rows = rows.filter(_beyond(columns, edge, is_upward=asked.is_upward))
    sign = "" if asked.is_upward else "-"
    return list(rows.order_by(*(f"{sign}{name}" for name in columns))[: asked.limit + 1])


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


def _count(matching: Sequence[Rows]) -> int:
    """Count the rows, up to one more than is told (spec: List conventions 4)."""
    return sum(rows.order_by().values("pk")[: TOTAL_MAX + 1].count() for rows in matching)
