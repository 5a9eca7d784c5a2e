"""Comparison with the released schema: what a change takes from its clients (docs: Versions)."""

from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]

# A limit of what a client sends: a lower most, or a higher least, refuses what was taken.
MOST = ("maximum", "maxLength", "maxItems", "maxProperties")
LEAST = ("minimum", "minLength", "minItems", "minProperties")
# Ends of sentences of `broken`, about a schema that said other than the service did: no client met
# anything else (docs: Versions, Compatible changes).
CORRECTED = ("card: brand may be null",)


def broken(released: Node, current: Node) -> list[str]:
    """Return what clients of the released schema can no longer do, or have to do now.

    What a client may ignore is not in it: new operations, new fields of answers, optional
    parameters, values of open fields, wider limits. Nor is a correction.
    """
    found = set(_Comparison(released, current).faults())
    return sorted(fault for fault in found if not fault.endswith(CORRECTED))


class _Comparison:
    def __init__(self, released: Node, current: Node) -> None:
        self.released, self.current = released, current
        self.compared: set[tuple[int, int, bool]] = set()  # Objects are inside of each other.

    def faults(self) -> Iterator[str]:
        for section in ("paths", "webhooks"):
            for address, methods in self.released[section].items():
                for method, old in methods.items():
                    place = f"{method.upper()} {address}" if section == "paths" else address
                    new = self.current[section].get(address, {}).get(method)
                    if new is None:
                        yield f"{place} is gone"
                    else:
                        yield from self._operation(place, old, new, is_told=section == "webhooks")

    def _operation(self, place: str, old: Node, new: Node, *, is_told: bool) -> Iterator[str]:
        if not is_told:
            yield from self._parameters(place, old, new)
        yield from self._body(
            place, old.get("requestBody", {}), new.get("requestBody", {}), is_told
        )
        for status in (status for status in old["responses"] if status.startswith("2")):
            if status not in new["responses"]:
                yield f"{place}: {status} is gone"
                continue
            before = _resolved(self.released, old["responses"][status])
            now = _resolved(self.current, new["responses"][status])
            yield from self._body(place, before, now, True)

    def _parameters(self, place: str, old: Node, new: Node) -> Iterator[str]:
        before, now = _parameters(self.released, old), _parameters(self.current, new)
        for key, one in before.items():
            name = f"{place}: parameter {key[1]}"
            if key not in now:
                yield f"{name} is gone"
            else:
                yield from self._shape(name, one["schema"], now[key]["schema"], False)
        for key, one in now.items():
            if one.get("required") and not before.get(key, {}).get("required"):
                yield f"{place}: parameter {key[1]} becomes required"

    def _body(self, place: str, old: Node, new: Node, is_answer: bool) -> Iterator[str]:
        if new.get("required") and not old.get("required") and not is_answer:
            yield f"{place}: a body becomes required"
        for media_type, content in old.get("content", {}).items():
            if media_type not in new.get("content", {}):
                yield f"{place}: {media_type} is gone"
            elif "schema" in content:
                now = new["content"][media_type]["schema"]
                yield from self._shape(place, content["schema"], now, is_answer)

    def _shape(self, place: str, old: Node, new: Node, is_answer: bool) -> Iterator[str]:
        place = old.get("$ref", place).removeprefix("#/components/schemas/")
        before, now = _kinds(self.released, old), _kinds(self.current, new)
        for kind in before.keys() - now.keys():
            if not is_answer and not (kind == "value" and "string" in now):
                yield f"{place} takes no {kind} any more"
        for kind in now.keys() - before.keys() if is_answer else ():
            yield f"{place} may be {kind}"
        for kind in before.keys() & now.keys():
            is_open = "string" in before
            yield from self._of_kind(place, before[kind], now[kind], is_answer, is_open=is_open)

    def _of_kind(
        self, place: str, old: Node, new: Node, is_answer: bool, *, is_open: bool
    ) -> Iterator[str]:
        if "properties" in old:
            both = id(old), id(new), is_answer
            if both in self.compared:
                return
            self.compared.add(both)
        before, now = _values(old), _values(new)
        yield from (f"{place}: value {value} is gone" for value in before - now)
        if is_answer and not is_open:
            yield from (f"{place}: value {value} is new" for value in now - before)
        if not is_answer:
            yield from _narrower(place, old, new)
        yield from self._fields(place, old, new, is_answer)
        for inner in ("items", "additionalProperties"):
            if isinstance(old.get(inner), dict) and isinstance(new.get(inner), dict):
                yield from self._shape(f"{place}[]", old[inner], new[inner], is_answer)

    def _fields(self, place: str, old: Node, new: Node, is_answer: bool) -> Iterator[str]:
        for name in _needed(new) - _needed(old) if not is_answer else ():
            yield f"{place}: {name} becomes required"
        for name in _needed(old) - _needed(new) if is_answer else ():
            yield f"{place}: {name} may be absent"
        for name, shape in old.get("properties", {}).items():
            if name not in new.get("properties", {}):
                yield f"{place}: {name} is gone"
            else:
                there = new["properties"][name]
                yield from self._shape(f"{place}: {name}", shape, there, is_answer)


def _component(document: Node, reference: str) -> Node:
    found: Node = document
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name, {})
    return found


def _resolved(document: Node, part: Node) -> Node:
    return _component(document, part["$ref"]) if "$ref" in part else part


def _parameters(document: Node, operation: Node) -> dict[tuple[str, str], Node]:
    all_of_them = [_resolved(document, one) for one in operation.get("parameters", [])]
    return {(one["in"], one["name"]): one for one in all_of_them}


def _kinds(document: Node, shape: Node) -> dict[str, Node]:
    """Return the kinds of values that a shape allows, each with its shape."""
    shape = _resolved(document, shape)
    alternatives = shape.get("anyOf") or shape.get("oneOf")
    if alternatives:
        found: dict[str, Node] = {}
        for one in alternatives:
            for kind, each in _kinds(document, one).items():
                is_another = kind == "value" and kind in found
                both = {"enum": [*_values(found[kind]), *_values(each)]} if is_another else each
                found[kind] = both
        return found
    if _values(shape):
        return {"value": shape}
    types = shape.get("type", "any")
    nouns = _values(shape.get("properties", {}).get("object", {}))
    names = [types] if isinstance(types, str) else types
    return {f"{name} {min(nouns)}" if nouns else name: shape for name in names}


def _values(shape: Node) -> set[str]:
    return {str(value) for value in shape.get("enum", [shape["const"]] if "const" in shape else [])}


def _needed(shape: Node) -> set[str]:
    return set(shape.get("required", []))


def _narrower(place: str, old: Node, new: Node) -> Iterator[str]:
    for limit in MOST:
        if limit in new and new[limit] < old.get(limit, float("inf")):
            yield f"{place}: {limit} becomes {new[limit]}"
    for limit in LEAST:
        if limit in new and new[limit] > old.get(limit, 0):
            yield f"{place}: {limit} becomes {new[limit]}"
