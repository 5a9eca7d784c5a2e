"""Somebody holds a row for long: nobody else's deliveries and payments wait for it (I9)."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import Model

from events.models import Event
from tests.stage.factories import EndpointFactory
from tests.stage.receivers import receiver
from tests.stage.webhook_world import (
    claim_all,
    leases_run_out,
    ok,
    refused,
    resend_event,
    rows,
    tell,
    tidy_up,
)
from tests.webhooks.test_drain import draining, endpoint_at, until
from webhooks.delivery import lanes
from webhooks.models import Endpoint, Lane

pytestmark = pytest.mark.django_db(transaction=True)

# For so long rows are held for somebody who waits for them, which nobody may.
HELD_SECONDS = 30
REFUSAL = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def held(model: type[Model], **which: Any) -> Iterator[None]:
    """Keep rows locked, as a change does that takes long, while the block runs."""
    is_held, may_end, was_awaited = Signal(), Signal(), Signal()

    def hold() -> None:
        with transaction.atomic():
            list(model.objects.select_for_update(no_key=True).filter(**which))
            is_held.set()
            if not may_end.wait(HELD_SECONDS):
                was_awaited.set()
        connections.close_all()

    thread = Thread(target=hold)
    thread.start()
    assert is_held.wait(10)
    try:
        yield
        assert not was_awaited.is_set(), "somebody waited for the rows"
    finally:
        may_end.set()
        thread.join(HELD_SECONDS)


@contextmanager
def at_once() -> Iterator[None]:
    """Let a wait for a row last until the row is free: by itself it would end after 3 s."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        yield
        cursor.execute("RESET lock_timeout")


def test_others_are_written_down_while_one_endpoint_is_held() -> None:
    theirs, ours = EndpointFactory(), EndpointFactory()
    tell(theirs.merchant, "cus_theirs")
    tell(ours.merchant, "cus_ours")
    answers = [refused(one) for one in claim_all()]

    with held(Endpoint, id=theirs.id), at_once():
        left = lanes.finish(answers)
        tell(ours.merchant, "cus_ours")

    assert [one.claimed.endpoint_id for one in left] == [theirs.id]
    assert rows(ours, "status")[0] == ("failed",)
    assert rows(theirs, "status") == [("pending",)]
    assert lanes.finish(left) == []
    assert rows(theirs, "status")[0] == ("failed",)


def test_others_are_written_down_while_lanes_are_held() -> None:
    theirs, ours = EndpointFactory(), EndpointFactory()
    for number in range(8):
        tell(theirs.merchant, f"cus_{number}")
    tell(ours.merchant, "cus_ours")
    claimed = claim_all()

    with held(Lane, endpoint=theirs), at_once():
        left = lanes.finish([ok(one) for one in claimed])
        not_free = lanes.release([one for one in claimed if one.endpoint_id == theirs.id])

    assert rows(ours, "status") == [("succeeded",)]
    assert len(left) == len(not_free) == 8
    assert lanes.finish(left) == []
    assert rows(theirs, "status") == [("succeeded",)] * 8


def test_what_others_took_over_meanwhile_is_not_left() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    late = claim_all()
    leases_run_out()
    claim_all()

    with held(Lane, endpoint=endpoint):
        assert lanes.finish([ok(one) for one in late]) == lanes.release(late) == []


def test_others_are_stopped_while_one_endpoint_is_held() -> None:
    theirs, ours = EndpointFactory(), EndpointFactory()
    for endpoint in (theirs, ours):
        tell(endpoint.merchant)
    Endpoint.objects.update(status="disabled")

    with held(Endpoint, id=theirs.id), at_once():
        tidy_up()

    assert rows(ours, "status") == [("canceled",)]
    assert rows(theirs, "status") == [("pending",)]


def test_the_loop_goes_on_and_writes_down_later_what_was_held(settings: Any) -> None:
    with receiver(REFUSAL) as theirs, receiver() as ours:
        one, other = endpoint_at(theirs, settings), endpoint_at(ours, settings)
        with draining():
            with held(Endpoint, id=one.id):
                tell(one.merchant, "cus_theirs")
                until(lambda: theirs.requests)
                tell(other.merchant, "cus_ours")
                until(lambda: rows(other, "status") == [("succeeded",)])
                assert rows(one, "status") == [("pending",)]
            until(lambda: rows(one, "status")[0] == ("failed",))


def test_a_resend_waits_for_who_holds_what_is_to_be_hurried() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    lanes.finish([refused(one) for one in claim_all()])
    wish = Thread(
        target=lambda: (resend_event(Event.objects.get(), endpoint), connections.close_all())
    )

    with held(Lane, endpoint=endpoint):
        wish.start()
        wish.join(0.3)
    wish.join(10)

    assert len(claim_all()) == 1
