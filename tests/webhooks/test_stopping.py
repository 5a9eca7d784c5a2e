"""Ten attempts, then nothing more until the merchant says so (contract 9)."""

from datetime import timedelta

import pytest

from core import clock
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.webhook_world import (
    claim,
    deliver,
    disable,
    enable,
    fail_until_given_up,
    ok,
    refused,
    rows,
    tell,
    tell_many,
    tidy_up,
)
from webhooks import stopping
from webhooks.delivery import lanes
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db

DELAYS = [0, 60, 300, 1800, 7200, 21600, 43200, 86400, 86400, 86400]


def test_ten_attempts_are_made_with_exactly_the_schedule_s_delays() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    moments = []

    for delay in DELAYS:
        clock.advance(timedelta(seconds=max(delay - 1, 0)))
        assert delay == 0 or claim() == []  # A second before it is due.
        clock.advance(timedelta(seconds=1))
        [claimed] = claim()
        moments.append(clock.now())
        lanes.finish([refused(claimed, attempted_at=moments[-1])])

    attempts = rows(endpoint, "attempt", "delay_seconds", "status")
    assert attempts == [(n + 1, delay, "failed") for n, delay in enumerate(DELAYS)]
    waits = rows(endpoint, "next_attempt_at")
    expected = [at + timedelta(seconds=wait) for at, wait in zip(moments, DELAYS[1:], strict=False)]
    assert waits == [(at,) for at in [*expected, None]]


def test_after_the_tenth_failure_the_endpoint_is_failing_and_nothing_is_sent() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    tell(endpoint.merchant, "cus_2")

    fail_until_given_up(endpoint)

    assert endpoint.status == "failing"
    assert claim() == []
    tidy_up()
    assert not Lane.objects.exists()
    assert not Delivery.objects.filter(status="pending").exists()


def test_what_a_failing_endpoint_did_not_receive_counts_as_missed_once() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 3)

    fail_until_given_up(endpoint)
    tidy_up()

    missed = Delivery.objects.filter(is_missed=True).order_by("sequence")
    assert [(one.sequence, one.attempt, one.status) for one in missed] == [
        (1, 10, "failed"), (2, 1, "canceled"), (3, 1, "canceled"),
    ]  # fmt: skip


def test_another_merchant_s_deliveries_go_on() -> None:
    failing, other = EndpointFactory(), EndpointFactory()
    tell(failing.merchant)
    fail_until_given_up(failing)
    tell(other.merchant, "cus_of_another")

    tidy_up()

    assert deliver() == [1]
    assert other.status == "enabled"


def test_disabling_cancels_what_is_pending() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)

    disable(endpoint)

    assert claim() == []
    assert stopping.stop_pending() == 2
    assert rows(endpoint, "status", "is_missed") == [("canceled", True)] * 2


def test_what_is_under_way_when_it_is_disabled_is_written_down_as_it_goes() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 2)
    [held] = claim()
    disable(endpoint)
    assert stopping.stop_pending() == 0

    lanes.finish([ok(held)])
    tidy_up()

    assert rows(endpoint, "status", "is_missed") == [("succeeded", False), ("canceled", True)]


def test_what_fails_after_it_was_disabled_is_not_tried_again() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    [held] = claim()
    disable(endpoint)

    lanes.finish([refused(held)])

    assert rows(endpoint, "status", "is_missed") == [("failed", True)]
    assert not Lane.objects.exists()
    assert Endpoint.objects.get().status == "disabled"


def test_enabling_drops_what_was_pending_from_before_and_keeps_what_is_under_way() -> None:
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    [held] = claim()
    tell(endpoint.merchant, "cus_2")
    disable(endpoint)

    enable(endpoint)
    tell(endpoint.merchant)
    lanes.finish([ok(held)])

    assert deliver() == [2]
    assert rows(endpoint, "lane_key", "is_missed")[1] == ("cus_2", True)


def test_one_chunk_after_the_other_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "CHUNK", 2)
    acme = MerchantFactory()
    endpoints = [EndpointFactory(merchant=acme) for _ in range(2)]
    for number in range(5):
        tell(acme, f"cus_{number}")
    for endpoint in endpoints:
        disable(endpoint)

    assert stopping.stop_pending() == 10
    assert stopping.stop_pending() == 0
