"""The objects that events are about: each room declares its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An object whose changes are recorded (spec: Event types).

    :param name: its `object`, and the first part of its event types: `customer`.
    :param types: all of its event types, in the spec's order: `customer.created`.
    :param scope: the name that a key's scopes have for it; None if every valid key may read it. A
        key that may not read the object finds none of its events.
    :param schemas: the names of its schemas in the API's document; an object that the API does
        not show yet is an `ApiObject`.
    """

    name: str
    types: tuple[str, ...]
    scope: str | None
    schemas: tuple[str, ...] = ("ApiObject",)
