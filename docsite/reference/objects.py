"""A page per object of the API: its fields, an example, its states, its endpoints, its events."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from core.rest import resources
from docsite.reference import endpoints, fields, markdown, openapi
from docsite.reference.openapi import Shape
from events.transitions import TABLES, Table
from events.types import AGGREGATES

# Tables of statuses whose noun is not the name of the object.
NOUNS = {
    "payment": "payment_intent",
    "attempt": "payment_attempt",
    "checkout_session": "checkout.session",
}
LIST_TOP = """\
# List

Every list of objects has this envelope. [Lists, page by page](../pagination.md) says how to read
one to its end.

"""
WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
STATES = "../states.md"


@dataclass(frozen=True, slots=True)
class ApiObject:
    """An object of the API.

    :param name: the value of its `object`.
    :param main: its schemas by their names; several where it is shown in several ways.
    :param remains: the schemas of what is left of it after it was deleted.
    """

    name: str
    main: dict[str, Shape]
    remains: dict[str, Shape]

    @property
    def component(self) -> str:
        """Return the name of the schema that has no addition."""
        return min(self.main, key=len)

    @property
    def title(self) -> str:
        """Return its name as a heading: `WebhookEndpoint` is "Webhook endpoint"."""
        name = "Event" if self.name == "event" else self.component
        return WORDS.sub(" ", name).capitalize()

    @property
    def description(self) -> str:
        """Return the sentences about it."""
        return " ".join(str(self.main[self.component].get("description", "")).split())

    @property
    def summary(self) -> str:
        """Return the first sentence about it, as a part of a list."""
        first = self.description.split(". ")[0].rstrip(".")
        return first[0].lower() + first[1:]


@cache
def found() -> dict[str, ApiObject]:
    """Return every object by its name, in the order of the document's operations."""
    schemas: dict[str, dict[str, Shape]] = {}
    for component, shape in openapi.document()["components"]["schemas"].items():
        if name := openapi.object_name(openapi.merged(shape)):
            schemas.setdefault(name, {})[component] = openapi.merged(shape)
    objects = {name: _object(name, shapes) for name, shapes in schemas.items()}
    first = [one.object_name for one in openapi.operations()]
    return dict(
        sorted(objects.items(), key=lambda item: first.index(item[0]) if item[0] in first else 99)
    )


def _object(name: str, shapes: dict[str, Shape]) -> ApiObject:
    main = {key: shape for key, shape in shapes.items() if "deleted" not in shape["properties"]}
    return ApiObject(name, main, {key: shape for key, shape in shapes.items() if key not in main})


def page(one: ApiObject) -> str:
    """Return the page of an object."""
    about = f"`object` is `{one.name}`."
    if one.name in resources.kinds():
        about += f" Its ids begin with `{resources.kinds()[one.name].prefix}_`."
    parts = [
        f"# {one.title}\n",
        f"{one.description} {about}\n".lstrip(),
        "## Fields\n",
        table_of_fields(fields.of_all(list(one.main.values()))),
        *_remains(one),
        *_example(one),
        *_states(one),
        *endpoints.sections(one.name),
        *_events(one),
    ]
    return "\n".join(parts)


def list_page() -> str:
    """Return the page of the list envelope, which is the same for all objects."""
    lists = [one.answer for one in openapi.operations() if one.is_list]
    rows = [
        (f"`{field.path}`", "array" if field.path == "data" else field.type, field.description)
        for field in fields.of_all(lists[:1])
    ]
    return LIST_TOP + markdown.table(("field", "type", "meaning"), rows)


def table_of_fields(rows: list[fields.Field]) -> str:
    """Return the table of an answer's fields."""
    return markdown.table(
        ("field", "type", "meaning"),
        [
            (
                f"`{field.path}`",
                field.type,
                field.description + ("" if field.is_required else " *May be absent.*"),
            )
            for field in rows
        ],
    )


def _remains(one: ApiObject) -> Iterator[str]:
    for component, shape in one.remains.items():
        yield f"## {WORDS.sub(' ', component).capitalize()}\n"
        yield f"{shape.get('description', '')}\n"
        known = {row.path for row in fields.of_all(list(one.main.values()))}
        rows = list(fields.of(shape))
        added = [row for row in rows if row.path not in known]
        if len(added) < len(rows) - 2:
            yield "All fields of above, and:\n"
            rows = added
        yield table_of_fields(rows)


def _example(one: ApiObject) -> Iterator[str]:
    if example := openapi.example_of(one.name):
        yield "## Example\n"
        yield markdown.json_block(example)


def table_of(one: ApiObject) -> Table | None:
    """Return the table of the object's statuses."""
    return next((t for t in TABLES.values() if NOUNS.get(t.noun, t.noun) == one.name), None)


def _states(one: ApiObject) -> Iterator[str]:
    table = table_of(one)
    if table is None:
        return
    yield "## States\n"
    if table.meanings:
        rows: list[tuple[str, str]] = [(f"`{key}`", text) for key, text in table.meanings.items()]
        yield markdown.table(("status", "meaning"), rows)
    yield f"Every change of status, with its event, is in [the tables of states]({STATES}).\n"


def _events(one: ApiObject) -> Iterator[str]:
    about: Any = AGGREGATES.get(one.name)
    if about is None:
        return
    yield "## Events\n"
    rows = [
        (f"[`{name}`](../events.md#{markdown.slug(name)})", about.meanings[name].cause)
        for name in about.types
    ]
    yield markdown.table(("event", "recorded when"), rows)
