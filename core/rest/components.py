"""Named parts of the API's schema: described where they are used, shown under `components`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Shape = dict[str, Any]  # A JSON Schema.
# A part's name and shape until `hoisted` puts a reference in its place; never in the document.
NAMED = "named"


class NameTaken(Exception):
    """Two parts of the schema have the same name, and differ."""


def named(name: str, shape: Shape, description: str = "") -> Shape:
    """Return a part of the schema that is a component of its own.

    :param description: what it is where it is used, in addition to the component's own description.
    """
    return {NAMED: (name, shape), **({"description": description} if description else {})}


def shape_of(part: Shape) -> Shape:
    """Return the shape of a part, named or not."""
    return part[NAMED][1] if NAMED in part else part


def hoisted(part: Any, found: dict[str, Shape]) -> Any:
    """Return a part with references in the place of the named parts within it.

    :param found: takes the named parts, by their names.
    :raises NameTaken: a name stands for two shapes.
    """
    if isinstance(part, list | tuple):
        return [hoisted(one, found) for one in part]
    if not isinstance(part, Mapping):
        return part
    rest = {key: hoisted(value, found) for key, value in part.items() if key != NAMED}
    if NAMED not in part:
        return rest
    name, shape = part[NAMED]
    whole = hoisted(shape, found)
    if found.setdefault(name, whole) != whole:
        raise NameTaken(f"{name} is described in two ways: {found[name]} and {whole}")
    return {"$ref": f"#/components/schemas/{name}", **rest}


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that a field may have, under the name that a client should have for them.

    :param meanings: by the value, a sentence.
    """

    name: str
    meanings: Mapping[Any, str]  # Of a model's own words too.

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(str(word) for word in self.meanings)

    def closed(self, description: str = "") -> Shape:
        """Return what takes these values and no others: a parameter."""
        return named(self.name, self._shape, description)

    def open(self, description: str) -> Shape:
        """Return what shows these values, and may show others in a later version: an answer."""
        return {
            "anyOf": [self.closed(), {"type": "string"}],
            "description": description,
            "x-extensible-enum": list(self.words),
        }

    @property
    def _shape(self) -> Shape:
        explained = [f"- `{word}`: {self.meanings[word]}" for word in self.meanings]
        return {
            "type": "string",
            "enum": list(self.words),
            "description": "\n".join(explained),
            "x-enumDescriptions": {str(word): text for word, text in self.meanings.items()},
        }
