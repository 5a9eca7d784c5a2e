"""Recording facts: an event is written in the transaction of its change."""

from collections.abc import Callable
from typing import Any, Protocol

import orjson
from django.conf import settings
from django.db import connection

from core import clock, context, ids, prepared, rows
from core.registry import Registry
from events.models import Event

COUNT = """
INSERT INTO events_counter (aggregate_id, merchant_id, last)
VALUES (%(aggregate)s::text, %(merchant)s::text, 1)
ON CONFLICT (aggregate_id, merchant_id) DO UPDATE SET last = events_counter.last + 1
RETURNING last
"""

# An object's first event: the counter begins, unless there is one.
BEGIN = """
INSERT INTO events_counter (aggregate_id, merchant_id, last)
VALUES (%(aggregate)s::text, %(merchant)s::text, 1) ON CONFLICT DO NOTHING RETURNING last
"""

# One more event of the same work: the counter goes on, unless others have counted since.
GO_ON = """
UPDATE events_counter SET last = last + 1
WHERE aggregate_id = %(aggregate)s::text AND merchant_id = %(merchant)s::text
    AND last = %(last)s::integer
RETURNING last
"""


Subscriber = Callable[[Event], None]
SUBSCRIBERS: Registry[Subscriber] = Registry("subscriber")


def register(subscriber: Subscriber) -> None:
    """Let a function hear each event, in its transaction; called in `AppConfig.ready()`."""
    SUBSCRIBERS.add(f"{subscriber.__module__}.{subscriber.__qualname__}", subscriber)


class Merchant(Protocol):
    """The owner of an event, which is written into it; this room may not import its model."""

    id: str
    api_version: str


def record(
    merchant: Merchant,
    event_type: str,
    body: dict[str, Any],
    before: dict[str, Any] | None = None,
    *,
    request_id: str | None = None,
) -> Event:
    """Write the event of one change, with the object's next sequence, and call subscribers.

    Called inside the transaction that makes the change, so that both commit or neither.

    :param body: the object after the change, rendered as the API returns it, collapsed.
    :param before: the same before the change; None at a creation.
    :param request_id: the request that began what ends now, if not the one at hand.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded in the transaction of its change")
    event = Event(
        id=ids.new("evt"),
        merchant_id=merchant.id,
        type=event_type,
        aggregate_type=body["object"],
        aggregate_id=body["id"],
        request_id=request_id or context.request_id(),
        created_at=clock.now(),
    )
    previous = {} if before is None else changed(before, body)
    if not _inserted_with_counter(event, merchant, body, previous):
        event.sequence = _next_sequence(merchant.id, event.aggregate_id)
        event.body = orjson.dumps(_frozen(event, merchant, body, previous))
        rows.insert(event)
    context.note_change(merchant.id, event.aggregate_id, sequence=event.sequence)
    for subscriber in SUBSCRIBERS.values():
        subscriber(event)
    return event


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the earlier values of what changed (contract 2, Event).

    Nested objects carry only their changed keys, arrays are given whole; a field that
    was absent is null, one that became absent is given with its old value.
    """
    difference: dict[str, Any] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            difference[name] = changed(old, new)
        else:
            difference[name] = old
    return difference


def _frozen(
    event: Event, merchant: Merchant, body: dict[str, Any], previous: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": event.id,
        "object": "event",
        "type": event.type,
        "created": clock.unix(event.created_at),
        "merchant_id": merchant.id,
        "api_version": merchant.api_version,
        "livemode": settings.LIVEMODE,
        "aggregate_type": event.aggregate_type,
        "aggregate_id": event.aggregate_id,
        "sequence": event.sequence,
        "request_id": event.request_id,
        "data": {"object": body, "previous_attributes": previous},
    }


def _inserted_with_counter(
    event: Event, merchant: Merchant, body: dict[str, Any], previous: dict[str, Any]
) -> bool:
    """Insert an event with its counter in one statement, if the counter stands where expected.

    It is expected where this work left it, and otherwise, at a creation, not to be there at all.
    """
    last = context.last_sequence(merchant.id, event.aggregate_id)
    if last is None and previous:
        return False
    event.sequence = (last or 0) + 1
    event.body = orjson.dumps(_frozen(event, merchant, body, previous))
    return rows.insert_after(
        event,
        BEGIN if last is None else GO_ON,
        aggregate=event.aggregate_id,
        merchant=event.merchant_id,
        last=str(last),
    )


def _next_sequence(merchant_id: str, aggregate_id: str) -> int:
    # The row lock orders the events of one object; max + 1 would repeat after pruning.
    [[sequence]] = prepared.rows(COUNT, {"aggregate": aggregate_id, "merchant": merchant_id})
    return int(sequence)
