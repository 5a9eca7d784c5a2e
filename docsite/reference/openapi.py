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
    def title(self) -> str:
        """Return its method and path."""
        return f"{self.method} {self.path}"

    @property
    def name(self) -> str:
        """Return its name in the document, unique."""
        return str(self.shape["operationId"])

    @property
    def description(self) -> str:
        """Return its description without its refusals, which a page shows on its own."""
        paragraphs = str(self.shape.get("description", "")).split("\n\n")
        kept = [one for one in paragraphs if not one.startswith("Refusals of its own")]
        return " ".join(" ".join(kept).split())

    @property
    def parameters(self) -> list[Shape]:
        """Return the parameters of its path, query and headers."""
        return [followed(one) for one in self.shape.get("parameters", [])]

    @property
    def bodies(self) -> list[Shape]:
        """Return the schema of its body, if it takes one."""
        return schemas_of(followed(self.shape.get("requestBody", {})))

    @property
    def request_example(self) -> Any:
        """Return an example of its body, None without one."""
        content = followed(self.shape.get("requestBody", {})).get("content", {})
        found = [one for kind in content.values() for one in examples(kind)]
        return found[0] if found else None

    @property
    def answer(self) -> Shape:
        """Return the schema of its answer."""
        return merged(schemas_of(followed(self.shape["responses"]["200"]))[0])

    @property
    def is_list(self) -> bool:
        """Return whether it answers a list."""
        return "data" in self.answer.get("properties", {})

    @property
    def object_name(self) -> str | None:
        """Return the `object` that it answers, or lists; None if there are several kinds."""
        shown = self.answer
        if self.is_list:
            shown = shown["properties"]["data"]["items"]
        names = {object_name(one) for one in alternatives(shown)}
        return names.pop() if len(names) == 1 else None

    @property
    def codes(self) -> frozenset[str]:
        """Return the codes that it refuses with."""
        given = self.shape.get("x-error-codes")
        return frozenset(_names(given)) if given else frozenset(self._codes_of_answers())

    @property
    def refusals(self) -> dict[str, Shape]:
        """Return recorded refusals of it, by their codes."""
        found = {}
        for status, answer in self.shape["responses"].items():
            contents = followed(answer).get("content", {}).values() if status >= "4" else ()
            for one in (one for content in contents for one in examples(content)):
                found[one["error"]["code"]] = one
        return found

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
    """Return what a `$ref` leads to; its own keys win over those of the other end."""
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


def values(shape: Shape) -> list[str]:
    """Return the values that a shape lists, whether the list is closed or may grow."""
    listed: list[Any] = [shape["const"]] if "const" in shape else shape.get("enum", [])
    listed = shape.get("x-extensible-enum", listed)
    return [
        value if isinstance(value, str) else orjson.dumps(value).decode()
        for value in listed
        if value not in (None, "")
    ]


def object_name(shape: Shape) -> str | None:
    """Return the `object` of an object of the API, None for a part or any other value."""
    kind = merged(shape.get("properties", {}).get("object", {}))
    found = values(kind)
    return found[0] if len(found) == 1 and found[0] != "list" else None


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
    """Return a recorded refusal of each code, of the first operation that has one."""
    found: dict[str, Shape] = {}
    for operation in operations():
        found = {**operation.refusals, **found}
    return found


def examples(content: Shape) -> Iterator[Shape]:
    """Yield the examples of a body."""
    if "example" in content:
        yield content["example"]
    yield from (followed(one)["value"] for one in content.get("examples", {}).values())


@cache
def _answers() -> dict[str, Shape]:
    """Return recorded answers by their `object`; the longest shows the most."""
    found: dict[str, Shape] = {}
    for operation in operations():
        content = followed(operation.shape["responses"]["200"]).get("content", {})
        recorded = [one for kind in content.values() for one in examples(kind)]
        listed = [one for answer in recorded for one in answer.get("data", []) if operation.is_list]
        for one in [*recorded, *listed]:
            before = found.get(one.get("object", ""), {})
            if "deleted" not in one and len(str(one)) > len(str(before)):
                found[one.get("object", "")] = one
    return found


def example_of(name: str) -> Shape | None:
    """Return a recorded object."""
    return _answers().get(name)


def refusal_with(code: str) -> Shape | None:
    """Return a recorded refusal with the code."""
    return _recorded().get(code)
