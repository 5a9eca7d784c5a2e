"""Every answer that a test is given is held against the strict form of docs/openapi.json.

The status must be described for the operation, the body must be what is described and
nothing more; and what was accepted must be described as a body. So the schema cannot drift
from what the service does as long as the tests do it.
"""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from jsonschema_rs import Draft202012Validator, ValidationError

from config.pages import SCHEMA
from tests.stage.strict import strict

METHODS = ("get", "post", "delete")
JSON = "application/json"


class Undescribed(AssertionError):
    """The service did what its schema does not say."""


@cache
def published() -> dict[str, Any]:
    """Return docs/openapi.json."""
    return json.loads(SCHEMA.read_bytes())


@cache
def document() -> dict[str, Any]:
    """Return the strict form of docs/openapi.json."""
    return strict(published())


def check(method: str, address: str, sent: Any, status: int, body: Any) -> None:
    """Hold a request and its answer against the schema.

    :param sent: the request's JSON body, None where it is none.
    :raises Undescribed: they differ.
    """
    found = operation(method, address)
    if found is None:
        _require(_refusal(), body, f"{method} {address}, which is not described")
        assert status >= 400, f"{method} {address} is not described, and answered {status}"
        return
    check_operation(found["operationId"], sent, status, body)
    if status == 200 and (more := _queried(address) - _parameters(found["operationId"])):
        raise Undescribed(f"{found['operationId']} took {more}, which are not described")


def check_operation(name: str, sent: Any, status: int, body: Any) -> None:
    """Hold an operation's request and answer against the schema.

    :raises Undescribed: they differ.
    """
    validator = _answer(name, status)
    if validator is None:
        raise Undescribed(f"{name} answered {status}, which is not described: {body}")
    _require(validator, body, f"{name} {status}")
    takes = _body(name)
    if status == 200 and sent is not None and takes:
        _require(takes, sent, f"{name}'s body, which was accepted,")


def operation(method: str, address: str) -> dict[str, Any] | None:
    """Return the description of what is done at an address."""
    path = path_of(address)
    return document()["paths"][path].get(_described_method(method)) if path else None


def path_of(address: str) -> str | None:
    """Return the path of an address with the names of its ids; None if it is not described."""
    bare = unquote(address.partition("?")[0])
    return next((path for pattern, path in _paths() if pattern.fullmatch(bare)), None)


def _described_method(method: str) -> str:
    return "get" if method == "HEAD" else method.lower()


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    # Those without a parameter first: `/v1/x/y` is not `/v1/x/{id}`.
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"{\w+}", "[^/]+", path)), path) for path in paths]


@cache
def _operations() -> dict[str, dict[str, Any]]:
    items = document()["paths"].values()
    return {item[method]["operationId"]: item[method] for item in items for method in item}


@cache
def _answer(name: str, status: int) -> Draft202012Validator | None:
    described = _operations()[name]["responses"].get(str(status))
    if described is None:
        return None
    return validator(described["content"][JSON]["schema"])


@cache
def _body(name: str) -> Draft202012Validator | None:
    takes = _operations()[name].get("requestBody")
    return validator(takes["content"][JSON]["schema"]) if takes else None


def _queried(address: str) -> set[str]:
    return {name.partition("[")[0] for name, _value in parse_qsl(urlsplit(address).query)}


@cache
def _parameters(name: str) -> set[str]:
    given = _operations()[name]["parameters"]
    return {one["name"].partition("[")[0] for one in given if one["in"] == "query"}


@cache
def _refusal() -> Draft202012Validator:
    return validator({"$ref": "#/components/schemas/Error"})


def validator(shape: dict[str, Any]) -> Draft202012Validator:
    """Return what validates a part of the schema."""
    return Draft202012Validator(
        {**shape, "components": document()["components"]}, validate_formats=True
    )


def _require(shape: Draft202012Validator, value: Any, what: str) -> None:
    try:
        shape.validate(value)
    except ValidationError as problem:
        place = "/".join(map(str, problem.instance_path))
        told = f"{what} differs from its description at {place or 'its top'}: {problem.message}"
        raise Undescribed(told[:2000]) from None
