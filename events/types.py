"""The event types that there are (spec: Event types): no other is recorded or subscribed to.

Each room declares the objects that its events are about, and its app registers them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from core.registry import Registry

# An endpoint that subscribes to this gets every type, those of later versions too.
ALL = "*"


class Meaning(NamedTuple):
    """An event type as the reference explains it to the developer of a merchant.

    :param cause: the change that it reports.
    :param previous: the fields in its `previous_attributes`.
    """

    cause: str
    previous: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An object whose changes are recorded (spec: Event types).

    :param name: its `object`, and the first part of its event types: `customer`.
    :param types: all of its event types, in the spec's order: `customer.created`.
    :param scope: the name that a key's scopes have for it; None if every valid key may read it. A
        key that may not read the object finds none of its events.
    :param schemas: the names of its schemas in the API's document.
    :param meanings: an entry for each of its types, for the reference.
    :param is_of_spec: whether its types are among the spec's 26; others stand beside them.
    """

    name: str
    types: tuple[str, ...]
    scope: str | None
    schemas: tuple[str, ...]
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    is_of_spec: bool = True


# By their names: those of the spec in its order, then those beside them.
AGGREGATES: Registry[Aggregate] = Registry("aggregate")


def register(*aggregates: Aggregate) -> None:
    """Add aggregates; called in `AppConfig.ready()`."""
    for aggregate in aggregates:
        AGGREGATES.add(aggregate.name, aggregate)


def names() -> tuple[str, ...]:
    """Return all event types, in the order of their aggregates."""
    return tuple(name for aggregate in AGGREGATES.values() for name in aggregate.types)


def object_of(event_type: str) -> str:
    """Return the object that events of a type are about: `checkout.session`."""
    return event_type.rpartition(".")[0]


def meanings() -> dict[str, str]:
    """Return what each event type says, in the spec's order."""
    return {name: one.meanings[name].cause for one in AGGREGATES.values() for name in one.types}


def scope_of(event_type: str) -> str | None:
    """Return the scope that a key needs to read events of a type, None if it needs none."""
    about = AGGREGATES.get(object_of(event_type))
    return about.scope if about else None


def readable(may_read: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the types of the events that a key may read.

    :param may_read: returns whether it may read the objects of a scope.
    """
    return tuple(
        name
        for aggregate in AGGREGATES.values()
        if aggregate.scope is None or may_read(aggregate.scope)
        for name in aggregate.types
    )
