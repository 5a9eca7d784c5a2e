"""Addresses that do not exist, and the ones that were meant."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from django.urls import Resolver404, get_resolver, resolve

from core.rest.messages import nearest
from core.rest.stripe_names import PATHS

API = "/v1/"


def instead_of(path: str) -> str:
    """Return advice for a path at which there is nothing; it repeats no part of the path."""
    bare = path.rstrip("/")
    if bare != path and _is_there(bare):
        return "Leave the slash at its end out."
    if _is_there(API + bare.lstrip("/")):
        return "Paths of the API begin with /v1."
    parts = bare.removeprefix(API).strip("/").split("/")
    if of_stripe := next((PATHS[part] for part in parts if part in PATHS), None):
        return of_stripe
    meant = nearest(parts[0], _collections())
    return f"Did you mean {API}{_collections()[meant]}?" if meant else ""


def _is_there(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


@cache
def _collections() -> dict[str, str]:
    """Return the shortest path below each first part: `checkout` leads to `checkout/sessions`."""
    found = (path for path in _paths(get_resolver().url_patterns, "/") if path.startswith(API))
    shortest: dict[str, str] = {}
    for path in sorted((path.removeprefix(API) for path in found), key=len):
        first, _slash, _rest = path.partition("/")
        shortest.setdefault(first, path)
    return shortest


def _paths(patterns: Iterable[Any], before: str) -> Iterator[str]:
    for one in patterns:
        path = before + str(one.pattern)
        if path.startswith(API) or API.startswith(path):
            yield from _paths(getattr(one, "url_patterns", ()), path)
            yield path
