"""The walk: each object, field, parameter, operation and event of the code has its entry."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from docsite.reference import events as events_page
from docsite.reference import objects, openapi
from events import types
from events.types import AGGREGATES
from tests.docsite.written import pages

Shape = dict[str, Any]
# A row of a table of fields: `card.brand`, `metadata`, `amount[gte]`, `line_items[][name]`.
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)

# Of a schema: the places of others within it.
INSIDE = ("items", "anyOf", "oneOf", "allOf", "additionalProperties")


def rows(text: str) -> set[str]:
    """Return the last names of all fields in the tables of a page."""
    return {
        re.split(r"[.\[]", path.replace("[]", "").rstrip("]"))[-1] for path in ROW.findall(text)
    }


def properties(shape: Any) -> Iterator[str]:
    """Yield the names of all properties that a schema itself has, however deep."""
    if isinstance(shape, list):
        for one in shape:
            yield from properties(one)
    if isinstance(shape, dict):
        for name, inner in shape.get("properties", {}).items():
            yield name
            yield from properties(inner)
        for key in INSIDE:
            yield from properties(shape.get(key))


def missing_fields(components: dict[str, Shape]) -> tuple[int, set[str]]:
    """Return how many fields of components were looked for, and those without an entry."""
    everywhere = set().union(*(rows(text) for text in pages().values()))
    number, missing = 0, set()
    for component, shape in components.items():
        name = openapi.object_name(openapi.merged(shape))
        page = pages().get(f"reference/objects/{name}.md")
        shown = everywhere if page is None else rows(page)
        for field in properties(shape):
            number += 1
            if field not in shown:
                missing.add(f"{component}.{field}")
    return number, missing


def test_every_field_of_every_component_has_a_row() -> None:
    components = openapi.document()["components"]["schemas"]

    number, missing = missing_fields(components)

    assert missing == set()
    assert number > 400
    print(f"{number} fields of {len(components)} components")  # noqa: T201


def test_a_field_without_a_row_is_found() -> None:
    refund = copy.deepcopy(openapi.document()["components"]["schemas"]["Refund"])
    refund["properties"]["shoe_size"] = {"type": "object", "properties": {"width": {}}}

    _number, missing = missing_fields({"Refund": refund})

    assert missing == {"Refund.shoe_size", "Refund.width"}


def unexplained(components: dict[str, Shape]) -> tuple[int, set[str]]:
    """Return how many fields of components were read, and those without a meaning."""
    number, unsaid = 0, set()
    for component, shape in components.items():
        for name, field in _fields(shape):
            number += 1
            if not openapi.merged(field).get("description"):
                unsaid.add(f"{component}.{name}")
    return number, unsaid


def _fields(shape: Any) -> Iterator[tuple[str, Shape]]:
    for one in shape if isinstance(shape, list) else []:
        yield from _fields(one)
    for name, field in shape.get("properties", {}).items() if isinstance(shape, dict) else []:
        yield name, field
        yield from _fields(field)
    for key in INSIDE if isinstance(shape, dict) else ():
        yield from _fields(shape.get(key))


def test_every_field_of_every_component_has_a_meaning() -> None:
    components = openapi.document()["components"]["schemas"]

    number, unsaid = unexplained(components)

    assert unsaid == set()
    assert number > 400


def test_a_field_without_a_meaning_is_found() -> None:
    refund = copy.deepcopy(openapi.document()["components"]["schemas"]["Refund"])
    refund["properties"]["shoe_size"] = {"type": "object", "properties": {"width": {}}}
    del refund["properties"]["amount"]["description"]

    _number, unsaid = unexplained({"Refund": refund})

    assert unsaid == {"Refund.shoe_size", "Refund.width", "Refund.amount"}


def test_every_object_has_a_page_with_an_example() -> None:
    found = objects.found()

    assert len(found) >= 16
    for name in found:
        text = pages()[f"reference/objects/{name}.md"]
        assert "## Fields" in text
        assert "## Example" in text or name in WITHOUT_EXAMPLE
    assert {
        one for one in WITHOUT_EXAMPLE if "## Example" in pages()[f"{OBJECTS}/{one}.md"]
    } == set()


OBJECTS = "reference/objects"
# They are shown inside of another object alone, by `expand[]`.
WITHOUT_EXAMPLE = {"payment_attempt"}


def section(text: str, heading: str) -> str:
    """Return the part of a page below a heading, up to the next one of its level."""
    _before, _heading, after = text.partition(f"\n### `{heading}`\n")
    return re.split(r"^#{2,3} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def test_every_operation_and_its_parameters_have_an_entry() -> None:
    together = "\n".join(pages().values())
    number = 0

    for operation in openapi.operations():
        text = section(together, operation.title)
        shown = set(ROW.findall(text))
        asked = {one["name"] for one in operation.parameters if one["in"] != "header"}
        assert text, operation.title
        assert asked <= shown, operation.title
        number += 1 + len(asked)

    assert number > 200
    print(f"{number} operations and parameters")  # noqa: T201


def test_every_event_has_an_entry() -> None:
    anchors = re.findall(r'^<a id="([a-z_.]+)"></a>$', pages()["reference/events.md"], re.MULTILINE)

    assert anchors == list(types.names())
    assert len(anchors) >= 26


def test_an_event_without_an_entry_stops_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(AGGREGATES["refund"].meanings, "refund.failed")  # type: ignore[arg-type]

    with pytest.raises(KeyError, match=r"refund\.failed"):
        events_page.page()


def test_what_an_event_says_about_earlier_values_names_fields_of_its_object() -> None:
    number = 0

    for about in AGGREGATES.values():
        shown = rows(pages()[f"reference/objects/{about.name}.md"])
        for event, meaning in about.meanings.items():
            named = set(re.findall(r"`([a-z_]+)`", meaning.previous)) - STATUSES
            assert named <= shown, event
            number += len(named)

    assert number > 30


STATUSES = {"requires_payment_method"}


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_no_entry_is_of_an_event_that_is_gone(name: str) -> None:
    assert AGGREGATES[name].meanings.keys() == set(AGGREGATES[name].types)


DOTS = re.compile(r"(?:, |; |\| )…|…(?=,? (?:and|or)\b)")


def dotted_lists(text: str) -> list[str]:
    """Return the places where a list outside of code ends in dots."""
    return DOTS.findall(re.sub(r"`[^`]+`", "`code`", text))


def test_no_list_on_a_page_ends_in_dots() -> None:
    ended = {name: found for name, text in pages().items() if (found := dotted_lists(text))}

    assert ended == {}
    assert dotted_lists("| `a`, `b`, … |") == [", …"]
