"""Parameters of queries, paths and headers, as shapes of the API's schema."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.rest import filters
from core.rest.fields import Shape
from core.rest.forms import Form
from core.rest.list_query import LIMIT_DEFAULT, SEARCH_MAX
from core.rest.lists import ListSpec

_CURSOR = {"type": "string", "minLength": 1}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": LIMIT_DEFAULT}
_COUNTED = {"type": "array", "items": {"const": "total_count"}}
_CONVENTIONS: Mapping[str, tuple[Shape, str]] = {
    "limit": (_LIMIT, "How many are on a page."),
    "starting_after": (_CURSOR, "The id of the last object of the page before."),
    "ending_before": (_CURSOR, "The id of the first object of the page after."),
    "include": (_COUNTED, "`total_count` counts what matches, up to 10000."),
}
TEXT = {"type": "string", "minLength": 1, "maxLength": SEARCH_MAX}


def of_list(spec: ListSpec, *, needed: Iterable[str] = ()) -> Iterator[Shape]:
    """Yield the parameters that a list takes: the conventions', then its filters'.

    :param needed: those that must be given.
    """
    for parameter in _all_of_list(spec):
        yield {**parameter, "required": True} if parameter["name"] in needed else parameter


def _all_of_list(spec: ListSpec) -> Iterator[Shape]:
    for name, (shape, description) in _CONVENTIONS.items():
        yield _in_query(f"{name}[]" if shape["type"] == "array" else name, shape, description)
    keys = [f"{sign}{key}" for key in spec.sort_keys for sign in ("", "-")]
    order = {"type": "string", "enum": keys, "default": spec.default_sort}
    yield _in_query("sort", order, "Ascending, or descending with `-`.")
    if spec.search:
        yield _in_query("q", TEXT, "What to search for.")
    yield from of_filters(spec)


def of_filters(spec: ListSpec) -> Iterator[Shape]:
    """Yield a list's filters, each by what its field takes."""
    for name, own in spec.filters.base_filters.items():
        description = f"Only what has this `{filters.bare(name)}`."
        yield _in_query(name, filters.shape(own), description)


def of_form(form: type[Form]) -> Iterator[Shape]:
    """Yield the parameters of a query that a form reads."""
    fields: Any = form().fields  # Ours have a shape.
    for name, field in fields.items():
        given = _in_query(name, field.shape, str(field.help_text))
        yield {**given, "required": True} if field.required else given


def expand(fields: Iterable[str]) -> Iterator[Shape]:
    """Yield `expand[]`, if there is anything to expand."""
    if known := sorted(fields):
        shape = {"type": "array", "items": {"enum": known}}
        yield _in_query("expand[]", shape, "Whole objects in the place of their ids.")


def _in_query(name: str, shape: Shape, description: str) -> Shape:
    styles = {"array": {"style": "form", "explode": True},
              "object": {"style": "deepObject", "explode": True}}  # fmt: skip
    return {"in": "query", "name": name, "description": description, "schema": shape,
            **styles.get(shape.get("type", ""), {})}  # fmt: skip


def in_path(name: str) -> Shape:
    return {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}
