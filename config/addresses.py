"""Addresses that do not exist, and the ones that were meant."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from django.urls import Resolver404, get_resolver, resolve

from core.rest.messages import nearest

API = "/v1/"


def instead_of(path: str) -> str:
    """Return advice for a path at which there is nothing; it repeats no part of the path."""
    bare = path.rstrip("/")
    if bare != path and _is_there(bare):
        return "Leave the slash at its end out."
    if _is_there(API + bare.lstrip("/")):
        return "Paths of the API begin with /v1."
    first = bare.removeprefix(API).strip("/").partition("/")[0]
    meant = nearest(first, _nouns())
    return f"Did you mean {API}{meant}?" if meant else ""


def _is_there(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


@cache
def _nouns() -> tuple[str, ...]:
    """Return the first part of each path of the API."""
    found = (path for path in _paths(get_resolver().url_patterns, "/") if path.startswith(API))
    return tuple(dict.fromkeys(path.removeprefix(API).partition("/")[0] for path in found))


def _paths(patterns: Iterable[Any], before: str) -> Iterator[str]:
    for one in patterns:
        path = before + str(one.pattern)
        if path.startswith(API) or API.startswith(path):
            yield from _paths(getattr(one, "url_patterns", ()), path)
            yield path
