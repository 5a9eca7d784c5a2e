"""A small stage for deliveries: events are told, claimed, answered, and the clock is moved."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from core import clock
from events import outbox
from events.models import Event
from merchants.models import Merchant
from webhooks import replay, resend, stopping
from webhooks.delivery import lanes, outcomes
from webhooks.delivery.messages import Answer, Capacity, Claimed
from webhooks.models import Delivery, Endpoint

MANY = 10_000


def tell(merchant: Merchant, object_id: str = "cus_1", event_type: str = "customer.updated") -> int:
    """Record an event as the merchant's changes do, and return its sequence."""
    with transaction.atomic():
        event = outbox.record(merchant, event_type, {"id": object_id, "object": "customer"})
    return event.sequence


def tell_many(merchant: Merchant, times: int, object_id: str = "cus_1") -> list[int]:
    return [tell(merchant, object_id) for _ in range(times)]


def claim(slots: int = MANY, degraded_slots: int = MANY) -> list[Claimed]:
    """Claim once, as a process does that has so many slots."""
    return lanes.claim(Capacity(slots, degraded_slots, under_way={}))


def claim_all() -> list[Claimed]:
    """Claim until nothing is left to claim."""
    claimed: list[Claimed] = []
    while more := claim():
        claimed += more
    return claimed


def ok(claimed: Claimed, **changes: Any) -> Answer:
    return answer(claimed, status=200, excerpt="thank you", **changes)


def refused(claimed: Claimed, **changes: Any) -> Answer:
    return answer(claimed, status=500, excerpt="sorry", error="http_status", **changes)


def answer(claimed: Claimed, **changes: Any) -> Answer:
    facts = {"status": None, "excerpt": None, "error": None, "duration_ms": 0}
    return Answer(claimed, **{**facts, "attempted_at": clock.now(), **changes})


def deliver(reply: Any = ok) -> list[int]:
    """Make everything that is due, one claim after the other; return the sequences as sent."""
    sent = []
    while claimed := claim():
        sent += [sequence_of(one) for one in claimed]
        lanes.finish([reply(one) for one in claimed])
    return sent


def fail_until_given_up(endpoint: Endpoint) -> None:
    """Walk the clock until a delivery to the endpoint has failed for the tenth time."""
    fail(endpoint, times=outcomes.MAX_ATTEMPTS)


def fail(endpoint: Endpoint, *, times: int) -> None:
    """Walk the clock until a delivery to the endpoint has failed so often."""
    deliver(refused)
    for seconds in outcomes.DELAYS_SECONDS[: times - 1]:
        clock.advance(timedelta(seconds=seconds + 1))
        deliver(refused)
    endpoint.refresh_from_db()


# --- What the API does with an endpoint -------------------------------------------------------


@transaction.atomic
def disable(endpoint: Endpoint) -> None:
    _update(endpoint, status="disabled", replay_xid=None, replay_since=None)


@transaction.atomic
def enable(endpoint: Endpoint) -> None:
    Endpoint.objects.select_for_update(no_key=True).get(id=endpoint.id)
    stopping.stop(endpoint)
    _update(endpoint, status="enabled", failures_in_a_row=0)


@transaction.atomic
def replay_missed(endpoint: Endpoint, *, since: datetime | None = None) -> None:
    replay.start(Endpoint.objects.select_for_update(no_key=True).get(id=endpoint.id), since=since)


@transaction.atomic
def resend_event(event: Event, *endpoints: Endpoint) -> None:
    resend.resend(event, Endpoint.objects.filter(id__in=[one.id for one in endpoints]))


def _update(endpoint: Endpoint, **facts: Any) -> None:
    Endpoint.objects.filter(id=endpoint.id).update(**facts)
    endpoint.refresh_from_db()


def tidy_up() -> None:
    """Let the background work run until it has nothing left to do."""
    while stopping.stop_pending() + replay.advance():
        pass


def sequence_of(claimed: Claimed) -> int:
    return Event.objects.get(id=claimed.event_id).sequence


def rows(endpoint: Endpoint, *fields: str, **only: Any) -> list[tuple[Any, ...]]:
    """Return the endpoint's attempts in the order in which they were written.

    Ids of one millisecond have no order; what one statement wrote is in the order of its events.
    """
    of_it = Delivery.objects.filter(endpoint=endpoint, **only)
    written = of_it.order_by("created_at", "sequence")
    return list(written.values_list(*fields))


def leases_run_out() -> None:
    """Let real time pass until no lease is live."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE webhooks_lane SET leased_until = now() - interval '1 second'"
            " WHERE leased_until IS NOT NULL"
        )


def sequences(claimed: Sequence[Claimed]) -> list[int]:
    return sorted(sequence_of(one) for one in claimed)
