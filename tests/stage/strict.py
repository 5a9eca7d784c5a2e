"""The strict form of docs/openapi.json, by which tests judge answers.

The published document lets answers grow. Its strict form does not: an answer has no field, no word
and no code that is not described. Bodies may be forms too, as the service takes them.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from config.openapi.operations import CODES

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
OPEN = "x-extensible-enum"
ANY_WORD = {"type": "string"}


def strict(published: dict[str, Any]) -> dict[str, Any]:
    """Return the strict form of the published document."""
    document = deepcopy(published)
    for part in _parts(document["components"]["schemas"]):
        _close(part)
    for item in document["paths"].values():
        for operation in item.values():
            operation["responses"] = {
                status: _with_codes(document, answer, operation[CODES].get(status))
                for status, answer in operation["responses"].items()
            }
            given = operation.get("parameters", [])
            operation["parameters"] = [_followed(document, one) for one in given]
            if body := operation.get("requestBody"):
                body["content"][FORM] = _form(document, body["content"][JSON]["schema"])
    return document


def _parts(shape: Any) -> Iterator[dict[str, Any]]:
    if isinstance(shape, list):
        for one in shape:
            yield from _parts(one)
    if isinstance(shape, dict):
        yield shape
        for one in shape.values():
            yield from _parts(one)


def _close(part: dict[str, Any]) -> None:
    if part.get("type") == "object" and isinstance(part.get("properties"), dict):
        part.setdefault("additionalProperties", False)
    if OPEN in part:
        part["anyOf"].remove(ANY_WORD)


def _followed(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter, with its words in it: the tests look them up."""
    whole = deepcopy(resolved(document, parameter))
    whole["schema"] = resolved(document, whole["schema"])
    if "items" in whole["schema"]:
        items = resolved(document, whole["schema"]["items"])
        whole["schema"] = {**whole["schema"], "items": items}
    return whole


def _with_codes(
    document: dict[str, Any], answer: dict[str, Any], codes: list[str] | None
) -> dict[str, Any]:
    """Return an answer that has no other codes than those of its operation and status."""
    if codes is None:
        return answer
    whole = deepcopy(resolved(document, answer))
    content = whole["content"][JSON]
    some = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    content["schema"] = {"allOf": [content["schema"], some]}
    return whole


def _form(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a body in bracket notation."""
    fields = resolved(document, schema)["properties"]
    nested = {
        name: {"style": "deepObject", "explode": True}
        for name, shape in fields.items()
        if "$ref" in str(shape) or name == "metadata"
    }
    return {"schema": schema, **({"encoding": nested} if nested else {})}


def resolved(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return what a part refers to, or itself."""
    while "$ref" in part:
        _hash, *path = part["$ref"].split("/")
        found: Any = document
        for name in path:
            found = found[name]
        part = found
    return part
