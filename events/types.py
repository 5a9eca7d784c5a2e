"""The event types that there are (spec: Event types): no other is recorded or subscribed to.

`settings.AGGREGATES` names the declarations of the rooms, in the spec's order.
"""

from django.conf import settings
from django.utils.module_loading import import_string

from events.aggregates import Aggregate

AGGREGATES: tuple[Aggregate, ...] = tuple(import_string(name) for name in settings.AGGREGATES)
TYPES = tuple(name for aggregate in AGGREGATES for name in aggregate.types)
# An endpoint that subscribes to this gets every type, those of later versions too.
ALL = "*"
