"""The fields of a schema as rows of one table: nested ones by their paths, `card.brand`."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from docsite.reference import markdown, openapi
from docsite.reference.openapi import Shape

# A schema says a unit in its description; a table has it with the type.
UNITS = {"Minor units.": "minor units", "Unix seconds.": "unix seconds"}
EXPANDABLE = "Expandable."
ID = re.compile(r"\^(\w+?)_\[")
# A component that only lists the meanings of its values describes them in the same way.
LISTED = re.compile(r"^- `")


@dataclass(frozen=True, slots=True)
class Field:
    """A field, wherever it is nested.

    :param path: the way to it, as the reader writes it.
    :param shape: its schema, followed and merged.
    :param is_required: always there in an answer; needed in a request.
    """

    path: str
    shape: Shape
    is_required: bool

    @property
    def type(self) -> str:
        """Return the type, its unit, and whether it may be null or be expanded."""
        parts = [type_of(self.shape) + (" or null" if is_nullable(self.shape) else "")]
        parts += [unit for ending, unit in UNITS.items() if ending in _described(self.shape)]
        parts += ["expandable"] if is_expandable(self.shape) else []
        return ", ".join(parts)

    @property
    def description(self) -> str:
        """Return its meaning, its values and its limits."""
        said = _described(self.shape)
        for ending in (*UNITS, EXPANDABLE):
            said = said.replace(ending, "").strip()
        added = [part for part in (_values(self.shape), *_limits(self.shape)) if part not in said]
        return " ".join(part for part in (said, *added) if part)


def dotted(path: str, name: str) -> str:
    """Return the path of a field in an answer."""
    return f"{path}.{name}" if path else name


def bracketed(path: str, name: str) -> str:
    """Return the path of a field in a request: `param` of a refusal is written so."""
    return f"{path}[{name}]" if path else name


def of(shape: Shape, join: Callable[[str, str], str] = dotted) -> Iterator[Field]:
    """Yield the fields of an object, those within its parts after each part.

    Other objects of the API are not entered: they have pages of their own.
    """
    yield from _fields(shape, "", join)


def _fields(shape: Shape, path: str, join: Callable[[str, str], str]) -> Iterator[Field]:
    whole = openapi.merged(shape)
    required = whole.get("required", [])
    for name, part in whole.get("properties", {}).items():
        field = Field(join(path, name), openapi.merged(part), name in required)
        yield field
        inner = _entered(field.shape)
        if inner is not None:
            array = "[]" if _is_array(field.shape) else ""
            yield from _fields(inner, field.path + array, join)


def of_all(shapes: Sequence[Shape]) -> list[Field]:
    """Return the fields of an object that has several shapes, as of one.

    A field that only some shapes have, or need, may be absent.
    """
    found: dict[str, list[Field]] = {}
    for shape in shapes:
        for field in of(shape):
            found.setdefault(field.path, []).append(field)
    return [
        fields[0]
        if len(fields) == len(shapes) == 1
        else Field(
            path,
            _one_of([field.shape for field in fields]),
            len(fields) == len(shapes) and all(field.is_required for field in fields),
        )
        for path, fields in found.items()
    ]


def _one_of(shapes: Sequence[Shape]) -> Shape:
    """Return the shape of a value that has one of these; the same ones count once."""
    distinct = [shape for index, shape in enumerate(shapes) if shape not in shapes[:index]]
    if len(distinct) == 1:
        return distinct[0]
    return {"anyOf": distinct, "description": distinct[0].get("description", "")}


def _entered(shape: Shape) -> Shape | None:
    """Return the object within a field that the table shows too."""
    for one in openapi.alternatives(shape):
        if "array" in _types(one):
            return _entered(one.get("items", {}))
        if "properties" in one and openapi.object_name(one) is None:
            return one
    return None


def _is_array(shape: Shape) -> bool:
    return any("array" in _types(one) for one in openapi.alternatives(shape))


def is_nullable(shape: Shape) -> bool:
    """Return whether the value may be null."""
    if "null" in _types(shape) or None in shape.get("enum", []):
        return True
    parts = [*shape.get("anyOf", []), *shape.get("oneOf", [])]
    return any(is_nullable(openapi.merged(part)) for part in parts)


def is_expandable(shape: Shape) -> bool:
    """Return whether an id is shown, and `expand[]` puts the object in its place."""
    items = [openapi.merged(one.get("items", one)) for one in openapi.alternatives(shape)]
    found = [one for item in items for one in openapi.alternatives(item)]
    return any("pattern" in one for one in found) and any(map(openapi.object_name, found))


def type_of(shape: Shape) -> str:
    """Return the type as a reader knows it: `integer`, `array of string`, `pi_… id`."""
    names = list(dict.fromkeys(_type_of(one) for one in openapi.alternatives(shape)))
    # An open list of values is a list of them or any other text.
    return " or ".join(name for name in names if name) or "any"


def _type_of(shape: Shape) -> str:
    if "array" in _types(shape):
        return f"array of {type_of(shape.get('items', {}))}"
    if name := openapi.object_name(shape):
        return f"[{name}]({name}.md)"
    if "properties" in shape:
        return "object"
    if found := ID.match(shape.get("pattern", "")):
        return f"`{found[1]}_` id"
    if isinstance(shape.get("additionalProperties"), dict):
        return f"map of {type_of(shape['additionalProperties'])}"
    types = [one for one in _types(shape) if one != "null"]
    if types:
        return " or ".join(types)
    listed = [shape["const"]] if "const" in shape else shape.get("enum", [])
    return {bool: "boolean", str: "string"}.get(type(next(iter(listed), None)), "any")


def _types(shape: Shape) -> list[str]:
    given = shape.get("type", [])
    return given if isinstance(given, list) else [given]


def _described(shape: Shape) -> str:
    own = str(shape.get("description", ""))
    if not own or LISTED.match(own):
        inner = [one.get("description", "") for one in openapi.alternatives(shape)]
        own = next((one for one in inner if one and not LISTED.match(one)), "")
    return " ".join(own.split())


def _values(shape: Shape) -> str:
    """Return the values that the schema lists, each with its meaning where it has one."""
    meanings = dict(_meanings(shape))
    if not meanings:
        return ""
    if len(meanings) == 1:
        return f"Always `{next(iter(meanings))}`."
    is_explained = all(meanings.values())
    # Fields to be expanded are explained by their names alone.
    if is_explained and not all(f"`{value}`" in text for value, text in meanings.items()):
        return " ".join(f"`{value}`: {meaning}" for value, meaning in meanings.items())
    return f"One of {markdown.codes(meanings)}."


def _meanings(shape: Shape) -> Iterator[tuple[str, str]]:
    """Yield the values of a field, or of the items of an array, with their meanings."""
    for one in openapi.alternatives(shape):
        if "array" in _types(one):
            yield from _meanings(one.get("items", {}))
        explained = one.get("x-enumDescriptions", {})
        yield from ((value, explained.get(value, "")) for value in openapi.values(one))


def _limits(shape: Shape) -> Iterator[str]:
    for one in openapi.alternatives(shape):
        if "maximum" in one:
            yield f"{one.get('minimum', 0)} to {one['maximum']}."
        elif one.get("minimum"):
            yield f"At least {one['minimum']}."
        if "maxLength" in one and not openapi.values(one):
            yield f"Up to {one['maxLength']} characters."
        if "maxItems" in one:
            yield f"Up to {one['maxItems']}."
    if "default" in shape:
        yield f"Default: `{orjson.dumps(shape['default']).decode().strip(chr(34))}`."
