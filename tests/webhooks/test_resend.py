"""A delivery that was asked for by hand (contract 9, resend)."""

from datetime import timedelta

import pytest

from core import clock
from events.models import Event
from tests.stage.factories import EndpointFactory
from tests.stage.webhook_world import (
    claim,
    deliver,
    disable,
    fail,
    refused,
    resend_event,
    rows,
    sequence_of,
    tell,
    tell_many,
    tidy_up,
)
from webhooks.delivery import lanes
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db


def event(sequence: int) -> Event:
    return Event.objects.get(sequence=sequence)


def test_an_event_is_sent_again_once() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    deliver()

    resend_event(event(1), endpoint)

    assert deliver() == [1]
    assert rows(endpoint, "trigger", "sequence", "attempt")[-1] == ("resend", 1, 1)
    assert not Lane.objects.exists()


def test_a_resend_that_fails_is_not_tried_again_and_changes_nothing_of_the_endpoint() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver()
    resend_event(event(1), endpoint)

    lanes.finish([refused(one) for one in claim()])

    assert rows(endpoint, "status", "is_missed", "next_attempt_at")[-1] == ("failed", False, None)
    assert not Lane.objects.exists()
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.failures_in_a_row) == ("enabled", 0)


@pytest.mark.parametrize("sequence", [1, 2])
def test_what_is_owed_anyway_is_sent_now_and_in_order(sequence: int) -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    lanes.finish([refused(one) for one in claim()])
    assert claim() == []

    resend_event(event(sequence), endpoint)

    assert deliver() == [1, 2]
    assert not Delivery.objects.filter(trigger="resend").exists()


def test_an_event_that_was_not_subscribed_to_is_sent_beside_an_earlier_one_that_is_owed() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver(refused)
    Endpoint.objects.update(enabled_events=["refund.created"])
    tell(endpoint.merchant)
    endpoint.refresh_from_db()

    resend_event(event(2), endpoint)

    assert sorted(deliver()) == [1, 2]
    assert rows(endpoint, "trigger", "sequence")[-1] == ("resend", 2)


def test_resends_spend_no_attempt_of_the_schedule() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver(refused)
    [planned] = rows(endpoint, "attempt", "delay_seconds", "scheduled_at", status="pending")

    for _ in range(12):
        resend_event(event(1), endpoint)
        assert deliver(refused) == [1]

    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.troubled_at) == ("enabled", None)
    assert rows(endpoint, "attempt", "delay_seconds", "scheduled_at", status="pending") == [planned]
    assert Lane.objects.get().due_at == planned[2]
    # The schedule goes on at its times.
    clock.advance(planned[2] - clock.now())
    assert deliver(refused) == [1]
    assert rows(endpoint, "attempt", "delay_seconds", status="pending") == [(3, 300)]


def test_a_resend_after_nine_failures_is_not_the_last_attempt() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    fail(endpoint, times=9)

    resend_event(event(1), endpoint)
    assert deliver(refused) == [1]

    endpoint.refresh_from_db()
    assert endpoint.status == "enabled"
    assert rows(endpoint, "attempt", "is_missed", status="failed")[-1] == (10, False)
    clock.advance(timedelta(days=1))
    assert deliver(refused) == [1]
    endpoint.refresh_from_db()
    assert endpoint.status == "failing"


def test_a_resend_sends_what_is_due_no_later() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    due_at = Lane.objects.get().due_at
    clock.advance(timedelta(hours=1))

    resend_event(event(1), endpoint)

    assert Lane.objects.get().due_at == due_at


def test_an_earlier_event_than_what_is_owed_is_sent_beside_it() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    deliver_first = claim()
    lanes.finish([refused(one) for one in deliver_first])
    clock.advance(timedelta(seconds=61))
    assert deliver() == [1, 2]
    tell(endpoint.merchant)
    lanes.finish([refused(one) for one in claim()])

    resend_event(event(1), endpoint)

    assert [sequence_of(one) for one in claim()] == [1]


def test_a_failing_endpoint_receives_what_was_asked_for_by_hand_and_nothing_else() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    Endpoint.objects.update(status="failing")
    endpoint.refresh_from_db()

    resend_event(event(1), endpoint)
    tidy_up()

    assert deliver() == [1]
    endpoint.refresh_from_db()
    assert endpoint.status == "failing"


def test_a_resend_to_an_endpoint_that_is_disabled_meanwhile_is_canceled_and_was_not_missed() -> (
    None
):
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver()
    resend_event(event(1), endpoint)

    disable(endpoint)
    tidy_up()

    assert rows(endpoint, "status", "is_missed")[-1] == ("canceled", False)


def test_a_resend_does_not_wait_for_a_replay() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver()
    Endpoint.objects.update(replay_xid=0)
    endpoint.refresh_from_db()
    tell(endpoint.merchant, "cus_2")

    resend_event(Event.objects.get(aggregate_id="cus_1"), endpoint)

    assert [one.is_resend for one in claim()] == [True]
