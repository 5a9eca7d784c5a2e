"""A replay sends an endpoint the events that it missed, in order, before newer ones."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event as Signal
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.db import connection, connections, transaction

from core import clock
from tests.stage.database_role import as_superuser
from tests.stage.factories import EndpointFactory
from tests.stage.threads import together
from tests.stage.webhook_world import (
    claim,
    deliver,
    disable,
    enable,
    fail_until_given_up,
    leases_run_out,
    ok,
    replay_missed,
    rows,
    tell,
    tell_many,
    tidy_up,
)
from webhooks import owed, replay
from webhooks.delivery import lanes
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db


def missed_by_one_that_was_disabled(times: int = 3) -> Endpoint:
    """An enabled endpoint that received event 1 and missed the next ones while it was not."""
    endpoint = EndpointFactory()
    tell(endpoint.merchant)
    deliver()
    disable(endpoint)
    tell_many(endpoint.merchant, times)
    enable(endpoint)
    return endpoint


def test_what_was_missed_is_sent_only_when_it_is_asked_for() -> None:
    endpoint = missed_by_one_that_was_disabled()

    assert deliver() == []
    replay_missed(endpoint)
    tidy_up()
    assert deliver() == [2, 3, 4]


def test_what_is_new_waits_behind_what_was_missed() -> None:
    endpoint = missed_by_one_that_was_disabled()
    replay_missed(endpoint)
    tell(endpoint.merchant)

    assert claim() == []  # Until what was missed is before it.
    tidy_up()
    assert deliver() == [2, 3, 4, 5]


def test_everything_after_the_first_missed_one_is_sent_again() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    tell_many(endpoint.merchant, 2)
    assert deliver() == [3, 4]

    replay_missed(endpoint)
    tidy_up()

    assert deliver() == [2, 3, 4]
    assert {trigger for (trigger,) in rows(endpoint, "trigger")[-3:]} == {"replay"}


def test_the_second_replay_finds_nothing() -> None:
    endpoint = missed_by_one_that_was_disabled()
    for _ in range(2):
        replay_missed(endpoint)
        tidy_up()
        last = deliver()

    assert last == []
    assert not Delivery.objects.filter(is_missed=True).exists()


def test_events_that_were_missed_before_the_bound_are_left() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    clock.advance(timedelta(hours=1))
    disable(endpoint)
    tell(endpoint.merchant, "cus_2")
    enable(endpoint)

    replay_missed(endpoint, since=clock.now() - timedelta(minutes=30))
    tidy_up()

    assert [one.lane_key for one in Delivery.objects.filter(status="pending")] == ["cus_2"]
    assert Delivery.objects.filter(is_missed=True).count() == 1


def test_what_the_endpoint_is_not_subscribed_to_any_more_is_not_replayed() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    Endpoint.objects.update(enabled_events=["refund.created"])

    replay_missed(endpoint)
    tidy_up()

    assert deliver() == []
    assert Endpoint.objects.get().replay_xid is None


def test_what_is_under_way_when_a_replay_is_asked_for_is_waited_for() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    tell(endpoint.merchant)
    [held] = claim()
    replay_missed(endpoint)
    tidy_up()
    assert Endpoint.objects.get().replay_xid is not None

    lanes.finish([ok(held)])
    tidy_up()

    assert deliver() == [2, 3]


def test_one_who_comes_back_late_into_a_replay_writes_nothing() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    tell(endpoint.merchant)
    [late] = claim()
    replay_missed(endpoint)
    leases_run_out()
    tidy_up()

    lanes.finish([ok(late)])

    assert deliver() == [2, 3]


def test_missed_events_of_a_failing_endpoint_come_back_in_order() -> None:
    endpoint = EndpointFactory()
    tell_many(endpoint.merchant, 3)
    fail_until_given_up(endpoint)
    tell(endpoint.merchant)

    enable(endpoint)
    replay_missed(endpoint)
    tidy_up()
    tell(endpoint.merchant)

    assert deliver() == [1, 2, 3, 4, 5]


def test_a_replay_that_ends_in_another_failure_can_be_asked_for_again() -> None:
    endpoint = missed_by_one_that_was_disabled(times=2)
    replay_missed(endpoint)
    tidy_up()
    fail_until_given_up(endpoint)
    assert endpoint.status == "failing"

    enable(endpoint)
    replay_missed(endpoint)
    tidy_up()

    assert deliver() == [2, 3]


def test_an_endpoint_that_is_disabled_in_the_middle_of_a_replay_misses_all_of_it() -> None:
    endpoint = missed_by_one_that_was_disabled(times=2)
    replay_missed(endpoint)
    tidy_up()

    disable(endpoint)
    tidy_up()

    assert not Lane.objects.exists()
    assert Delivery.objects.filter(is_missed=True).count() == 2


def test_a_replay_broken_off_between_two_chunks_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owed, "CHUNK", 2)
    monkeypatch.setattr(replay, "RUN_SECONDS", 0.0)
    endpoint = EndpointFactory(status="disabled")
    for number in range(5):
        tell(endpoint.merchant, f"cus_{number}")
    enable(endpoint)
    replay_missed(endpoint)

    assert replay.advance() == 0  # Out of time before it began.
    monkeypatch.setattr(replay, "RUN_SECONDS", 10.0)
    assert replay.advance() == 5
    assert len(deliver()) == 5


def test_a_later_wish_widens_a_replay_and_never_narrows_it() -> None:
    endpoint = missed_by_one_that_was_disabled()
    early, late = clock.now() - timedelta(days=2), clock.now()

    replay_missed(endpoint, since=late)
    replay_missed(endpoint, since=early)
    assert Endpoint.objects.get().replay_since == early
    replay_missed(endpoint, since=late)
    assert Endpoint.objects.get().replay_since == early
    replay_missed(endpoint)
    assert Endpoint.objects.get().replay_since is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change_begins", ["before", "during"])
def test_a_change_that_saw_the_endpoint_disabled_is_waited_for(change_begins: str) -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)
    disable(endpoint)
    enabling, told, may_commit = Signal(), Signal(), Signal()

    def change() -> None:
        assert change_begins == "before" or enabling.wait(10)
        with transaction.atomic():
            tell(endpoint.merchant)
            told.set()
            may_commit.wait(10)

    def merchant() -> int:
        assert change_begins == "during" or told.wait(10)
        with transaction.atomic():
            enable(endpoint)
            replay_missed(endpoint)
            enabling.set()
            told.wait(10)
        tidy_up()
        early = Delivery.objects.filter(trigger="replay").count()
        may_commit.set()
        return early

    _, early = together([change, merchant])
    tidy_up()

    assert early == 0
    assert deliver() == [2, 3]


@contextmanager
def left_open(*statements: str) -> Iterator[None]:
    """A transaction of somebody else's that has done something and does not end."""
    is_open, may_end = Signal(), Signal()

    def begin() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            is_open.set()
            may_end.wait(20)
        connections.close_all()

    thread = Thread(target=begin)
    thread.start()
    assert is_open.wait(10)
    try:
        yield
    finally:
        may_end.set()
        thread.join(10)


WRITES_ELSEWHERE = "SELECT pg_current_xact_id()"
READS_DELIVERIES = "SELECT count(*) FROM webhooks_delivery"
WRITES_DELIVERIES = "UPDATE webhooks_delivery SET is_missed = false WHERE id = 'whd_none'"


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_plans_nothing_is_not_waited_for() -> None:
    endpoint = missed_by_one_that_was_disabled(times=1)

    with left_open(WRITES_ELSEWHERE, READS_DELIVERIES):
        replay_missed(endpoint)
        tidy_up()

        assert deliver() == [2]


@contextmanager
def left_open_by_another_role(*statements: str) -> Iterator[None]:
    """As `left_open`, in a session whose age PostgreSQL hides from the service's role."""
    with psycopg.connect(as_superuser()) as other:
        for statement in statements:
            other.execute(statement)
        yield


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("opened", [left_open, left_open_by_another_role])
def test_one_that_stays_open_with_deliveries_is_waited_for_and_told_of(
    opened: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replay, "WARN_AFTER_SECONDS", 0)
    endpoint = missed_by_one_that_was_disabled(times=1)

    with opened(WRITES_ELSEWHERE, WRITES_DELIVERIES):
        replay_missed(endpoint)
        for _ in range(3):
            tidy_up()
        assert deliver() == []
    tidy_up()

    assert deliver() == [2]
    assert caplog.text.count("webhook_replay_waits_for_transaction") == 1


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_the_table_sees_the_endpoint_as_it_is_after_the_wait() -> None:
    # Replays rely on this: a statement's snapshot is taken after its tables are locked.
    endpoint = EndpointFactory(status="disabled")
    plan = Thread(target=lambda: (tell(endpoint.merchant), connections.close_all()))

    with left_open("LOCK TABLE webhooks_delivery IN SHARE MODE"):
        plan.start()
        wait_until_one_waits_for_the_table()
        Endpoint.objects.update(status="enabled")
    plan.join(10)

    assert rows(endpoint, "status") == [("pending",)]


def wait_until_one_waits_for_the_table() -> None:
    query = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'webhooks_delivery'::regclass"
    for _ in range(200):
        with connection.cursor() as cursor:
            cursor.execute(query)
            if cursor.fetchone():
                return
        time.sleep(0.01)
    raise AssertionError("nobody waits")
