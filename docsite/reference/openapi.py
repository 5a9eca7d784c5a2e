"""The parts of docs/openapi.json that the pages read; each reference is followed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from django.conf import settings

Shape = dict[str, Any]
PATH = settings.BASE_DIR / "docs" / "openapi.json"
METHODS = ("get", "post", "delete")
# The address of the samples on all pages.
BASE = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    :param shape: as the document has it.
    """

    method: str
    path: str
    shape: Shape

    @property
    def summary(self) -> str:
        """Return its purpose, a short imperative."""
        return str(self.shape["summary"])

    @property
    def codes(self) -> frozenset[str]:
        """Return the codes that it refuses with."""
        given = self.shape.get("x-error-codes")
        return frozenset(_names(given)) if given else frozenset(self._codes_of_answers())

    def _codes_of_answers(self) -> Iterator[str]:
        for status, answer in self.shape["responses"].items():
            if not status.startswith("2"):
                for shape in schemas_of(followed(answer)):
                    yield from codes_in(shape)


def _names(given: Any) -> Iterator[str]:
    """Yield the codes of an extension: a list of them, or one list for each status."""
    for part in given.values() if isinstance(given, dict) else [given]:
        yield from part


@cache
def document() -> Shape:
    """Return the document."""
    return orjson.loads(PATH.read_bytes())


@cache
def operations() -> tuple[Operation, ...]:
    """Return every operation, in the document's order."""
    return tuple(
        Operation(method.upper(), path, item[method])
        for path, item in document()["paths"].items()
        for method in METHODS
        if method in item
    )


def followed(shape: Shape) -> Shape:
    """Return what a `$ref` leads to; its own words win over those of the other end."""
    while "$ref" in shape:
        found: Any = document()
        for part in shape["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        shape = {**found, **{key: shape[key] for key in shape if key != "$ref"}}
    return shape


def merged(shape: Shape) -> Shape:
    """Return a shape with what its `$ref` and `allOf` say taken into it."""
    shape = followed(shape)
    if "allOf" not in shape:
        return shape
    whole: Shape = {key: value for key, value in shape.items() if key != "allOf"}
    for part in map(merged, shape["allOf"]):
        fields = {**part.get("properties", {}), **whole.get("properties", {})}
        required = [*part.get("required", []), *whole.get("required", [])]
        whole = {**part, **whole}
        if fields:
            whole["properties"] = fields
        if required:
            whole["required"] = list(dict.fromkeys(required))
    return whole


def alternatives(shape: Shape) -> list[Shape]:
    """Return the shapes that a value may have, one for each; null is left out."""
    shape = merged(shape)
    inner = shape.get("anyOf") or shape.get("oneOf")
    if not inner:
        return [shape]
    found = [one for part in inner for one in alternatives(part)]
    return [one for one in found if one.get("type") != "null"]


def schemas_of(answer: Shape) -> list[Shape]:
    """Return the schemas of a body, JSON's alone where others are there too."""
    content = answer.get("content", {})
    kinds: Shape = content.get("application/json") or next(iter(content.values()), {})
    return [kinds["schema"]] if "schema" in kinds else []


def codes_in(shape: Shape) -> Iterator[str]:
    """Yield the codes that the schema of a refusal allows, where it names them itself."""
    narrow = [part for part in shape.get("allOf", []) if "$ref" not in part]
    for part in narrow or [followed(shape)]:
        error = part.get("properties", {}).get("error", {})
        code = error.get("properties", {}).get("code", {})
        yield from code.get("enum", [code["const"]] if "const" in code else [])


@cache
def _recorded() -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    for operation in operations():
        for answer in operation.shape["responses"].values():
            for content in followed(answer).get("content", {}).values():
                for example in _examples(content):
                    if isinstance(example.get("error"), dict):
                        found.setdefault(example["error"]["code"], example)
    return found


def _examples(content: Shape) -> Iterator[Shape]:
    if "example" in content:
        yield content["example"]
    yield from (followed(one)["value"] for one in content.get("examples", {}).values())


def refusal_with(code: str) -> Shape | None:
    """Return a recorded refusal with the code."""
    return _recorded().get(code)
