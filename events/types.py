"""The event types that there are (spec: Event types): no other is recorded or subscribed to.

`settings.AGGREGATES` names the declarations of the rooms, in the spec's order.
"""

from collections.abc import Callable

from django.conf import settings
from django.utils.module_loading import import_string

from events.aggregates import Aggregate

AGGREGATES: tuple[Aggregate, ...] = tuple(import_string(name) for name in settings.AGGREGATES)
TYPES = tuple(name for aggregate in AGGREGATES for name in aggregate.types)
_SCOPES = {name: aggregate.scope for aggregate in AGGREGATES for name in aggregate.types}
# An endpoint that subscribes to this gets every type, those of later versions too.
ALL = "*"


def scope_of(event_type: str) -> str | None:
    """Return the scope that a key needs to read events of a type, None if it needs none."""
    return _SCOPES.get(event_type)


def readable(may_read: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the types of the events that a key may read.

    :param may_read: tells whether it may read the objects of a scope.
    """
    return tuple(name for name, scope in _SCOPES.items() if scope is None or may_read(scope))
