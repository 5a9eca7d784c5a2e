"""The resources of the API: each is declared in its own room, whose app registers it.

No room below knows the nouns of the rooms above: scopes, expansion and the API's document are
collected from the declarations.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from django.core.exceptions import ImproperlyConfigured

from core.registry import Registry
from core.rest import expansion
from core.rest.expansion import Expandable, ObjectKind, ObjectKinds
from core.rest.schema import Schemas


@dataclass(frozen=True, slots=True)
class Resource:
    """A noun of the API.

    :param path: the first part of its addresses below `/v1/`.
    :param tag: its section of the API's document, and a sentence about it.
    :param scope: the name that a key's scopes have for it; None if every valid key may read it.
    :param schemas: the schemas of its objects, by name.
    :param kinds: its kinds of objects, by the name that `object` shows.
    """

    path: str
    tag: tuple[str, str]
    scope: str | None = None
    schemas: Schemas = field(default_factory=dict)
    kinds: ObjectKinds = field(default_factory=dict)


# By their paths.
RESOURCES: Registry[Resource] = Registry("resource")


def register(*resources: Resource) -> None:
    """Add resources; called in `AppConfig.ready()`.

    :raises ImproperlyConfigured: two claim the same path, kind of object or id prefix.
    """
    for resource in resources:
        RESOURCES.add(resource.path, resource)
    _require_distinct("kind", lambda one: one.kinds)
    _require_distinct("prefix", lambda one: [kind.prefix for kind in one.kinds.values()])


def scopes() -> tuple[str, ...]:
    """Return the names that a key's scopes may have, sorted."""
    return tuple(sorted({one.scope for one in RESOURCES.values() if one.scope}))


def schemas() -> Schemas:
    """Return the schemas of all objects, by name."""
    return {name: shape for one in RESOURCES.values() for name, shape in one.schemas.items()}


@cache
def kinds() -> Mapping[str, ObjectKind]:
    """Return all kinds of objects, by the name that `object` shows."""
    return {name: kind for one in RESOURCES.values() for name, kind in one.kinds.items()}


@cache
def scopes_by_prefix() -> Mapping[str, str]:
    """Return the scope that each kind of object is read with, by the prefix of its ids."""
    return {kind.prefix: kind.scope for kind in kinds().values()}


@cache
def expandable(*shown: str) -> Expandable:
    """Return the fields that `expand[]` takes where objects of the `shown` kinds are shown."""
    return expansion.expandable(kinds(), *shown)


def _require_distinct(noun: str, names_of: Callable[[Resource], Iterable[str]]) -> None:
    names = [name for one in RESOURCES.values() for name in names_of(one)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ImproperlyConfigured(f"Two resources have the same {noun}: {', '.join(twice)}.")
