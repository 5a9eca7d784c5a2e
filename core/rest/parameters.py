"""Parameters of queries, paths and headers, as shapes of the API's schema."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.rest import filters
from core.rest.components import Choices, Shape
from core.rest.forms import Form
from core.rest.list_query import LIMIT_DEFAULT, SEARCH_MAX
from core.rest.lists import TOTAL_MAX, ListSpec

_CURSOR = {"type": "string", "minLength": 1}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": LIMIT_DEFAULT}
_INCLUDED = Choices("ListInclude", {"total_count": "Count the objects that match."})
_CONVENTIONS: Mapping[str, tuple[Shape, str]] = {
    "limit": (_LIMIT, f"How many objects a page has at most. Default: {LIMIT_DEFAULT}."),
    "starting_after": (
        _CURSOR,
        "The id of an object: the page begins after it. Give the last id of the page before. "
        "Absent: the first page.",
    ),
    "ending_before": (
        _CURSOR,
        "The id of an object: the page ends before it. Give the first id of the page after. "
        "Not together with `starting_after`.",
    ),
    "include": (
        {"type": "array", "items": _INCLUDED.closed()},
        f"`total_count` adds how many objects match, counted up to {TOTAL_MAX}. "
        "Absent: they are not counted.",
    ),
}
TEXT = {"type": "string", "minLength": 1, "maxLength": SEARCH_MAX}
# Of filters that mean the same in each list.
_COMMON = {
    "created": "When the object was created, in Unix seconds.",
    "amount": "The amount in minor units.",
    "currency": "The currency's three letters (ISO 4217), in any case.",
}
_COMPARED = {
    "gt": "is greater than this value",
    "gte": "is this value or greater",
    "lt": "is less than this value",
    "lte": "is this value or less",
}


def of_list(spec: ListSpec, *, needed: Iterable[str] = ()) -> Iterator[Shape]:
    """Yield the parameters that a list takes: the conventions', then its filters'.

    :param needed: those that must be given.
    """
    for parameter in _all_of_list(spec):
        yield {**parameter, "required": True} if parameter["name"] in needed else parameter


def _all_of_list(spec: ListSpec) -> Iterator[Shape]:
    for name, (shape, description) in _CONVENTIONS.items():
        yield _in_query(f"{name}[]" if shape["type"] == "array" else name, shape, description)
    order = f"The order of the list. Default: `{spec.default_sort}`."
    yield _in_query("sort", _order(spec), order)
    if spec.search:
        yield _in_query("q", TEXT, _SEARCHED)
    yield from of_filters(spec)


_SEARCHED = (
    "A text to search for: an id, an e-mail address, or the start of a description. "
    f"Up to {SEARCH_MAX} characters."
)


def _order(spec: ListSpec) -> Shape:
    explained = {}
    for key in spec.sort_keys:
        explained[key] = f"By `{key}`, the lowest or oldest first."
        explained[f"-{key}"] = f"By `{key}`, the highest or newest first."
    return {
        "type": "string",
        "enum": list(explained),
        "default": spec.default_sort,
        "x-enumDescriptions": explained,
    }


def of_filters(spec: ListSpec) -> Iterator[Shape]:
    """Yield a list's filters, each by what its field takes.

    A KeyError names the parameter that the filters' `meanings` leave out.
    """
    for name, own in spec.filters.base_filters.items():
        base = filters.bare(name)
        described = filters.shape(own, spec.filters.choices.get(base))
        compared = _compared(name, described)
        meaning = f"Only objects whose `{base}` {compared}. {_meaning(spec, base)}"
        yield _in_query(name, described, meaning)


def _meaning(spec: ListSpec, name: str) -> str:
    return _COMMON[name] if name in _COMMON else spec.filters.meanings[name]


def _compared(name: str, shape: Shape) -> str:
    if shape.get("type") == "object":
        return "has these keys and values"
    if shape.get("type") == "array":
        return "is one of these values"
    _base, _bracket, lookup = name.rstrip("]").partition("[")
    return _COMPARED.get(lookup, "is this value")


def of_form(form: type[Form]) -> Iterator[Shape]:
    """Yield the parameters of a query that a form reads."""
    fields: Any = form().fields  # Ours have a shape.
    for name, field in fields.items():
        given = _in_query(name, field.shape, str(field.help_text))
        yield {**given, "required": True} if field.required else given


def expand(fields: Iterable[str], *, of: str) -> Iterator[Shape]:
    """Yield `expand[]`, if there is anything to expand.

    :param of: what is shown, such as `PaymentIntent`.
    """
    if known := sorted(fields):
        explained = {name: f"Show `{name}` as a whole object." for name in known}
        items = Choices(f"{of}Expand", explained).closed()
        yield _in_query(
            "expand[]",
            {"type": "array", "items": items},
            "Fields that are shown as whole objects instead of ids, up to four levels deep. In a "
            "list, `data.` may stand before them. Absent: ids.",
        )


def _in_query(name: str, shape: Shape, description: str) -> Shape:
    styles = {"array": {"style": "form", "explode": True},
              "object": {"style": "deepObject", "explode": True}}  # fmt: skip
    return {"in": "query", "name": name, "description": description, "schema": shape,
            **styles.get(shape.get("type", ""), {})}  # fmt: skip


def in_path(name: str) -> Shape:
    noun = name.removesuffix("_id").replace("_", " ")
    return {
        "in": "path",
        "name": name,
        "required": True,
        "description": f"The id of the {_NOUNS.get(noun, noun)}.",
        "schema": {"type": "string"},
    }


_NOUNS = {
    "intent": "payment", "endpoint": "webhook endpoint", "log": "request",
    "transaction": "balance transaction",
}  # fmt: skip
