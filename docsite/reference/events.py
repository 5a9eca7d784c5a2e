"""The page of all event types: the change behind each, its object, and an example."""

from collections.abc import Iterator

from docsite.reference import markdown, openapi
from events.transitions import TABLES
from events.types import AGGREGATES, Aggregate

TOP = """\
# Events

An event reports one change of one object. Your [webhook endpoints](objects/webhook_endpoint.md)
receive it, and `GET /v1/events` lists it. `data.object` is the object as it was right after the
change. `data.previous_attributes` has the fields that changed, with their values before.
"""


def page() -> str:
    """Return the page.

    :raises KeyError: a type is not explained.
    """
    return "\n".join([TOP, *(part for one in AGGREGATES.values() for part in _about(one))])


def _about(about: Aggregate) -> Iterator[str]:
    yield f"## Of `{about.name}`\n"
    for name in about.types:
        cause, previous = about.meanings[name]
        yield markdown.heading(3, name, anchor=name)
        yield f"{cause}\n"
        yield f"- `data.object`: the [{about.name}](objects/{about.name}.md)"
        yield f"- `data.previous_attributes`: {previous}\n"
        yield from _changes(name)
        yield from _example(name)


def _changes(name: str) -> Iterator[str]:
    """Yield the changes of status that record the event."""
    rows = [
        (f"`{change.before}`", f"`{change.after}`", change.cause)
        for table in TABLES.values()
        for change in table.changes
        if change.event == name
    ]
    if rows:
        yield markdown.table(("from", "to", "when"), rows)


def _example(name: str) -> Iterator[str]:
    operation = openapi.document()["webhooks"].get(name, {}).get("post", {})
    for content in openapi.followed(operation.get("requestBody", {})).get("content", {}).values():
        for example in openapi.examples(content):
            yield markdown.json_block(example)
            return
