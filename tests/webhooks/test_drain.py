"""The loop: what is due is sent, in order, at once and to everybody; and it stops when told."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.stage import receivers
from tests.stage.draining import (
    PATIENCE_SECONDS,
    draining,
    endpoint_at,
    received,
    run_until,
    slowly,
    statuses,
    tell,
    until,
)
from tests.stage.receivers import receiver
from tests.stage.redis_places import OwnRedis
from webhooks import upkeep
from webhooks.delivery import lanes
from webhooks.delivery.drain import AlreadyDraining, Drain, _only_one
from webhooks.delivery.listening import listen
from webhooks.delivery.moments import Moment
from webhooks.delivery.wakeups import CHANNEL
from webhooks.models import Delivery, Lane

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nobody_is_late(settings: Any) -> None:
    """A busy machine may take its time: no attempt here is to end by its deadline."""
    settings.WEBHOOK_TIMEOUT_SECONDS = 30.0
    settings.WEBHOOK_LEASE_SECONDS = 60.0


def test_what_is_due_is_delivered_in_order_and_written_down(settings: Any) -> None:
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        told = [tell(endpoint.merchant) for _ in range(5)]

        run_until(lambda: not Lane.objects.exists())

    assert received(theirs) == told
    assert statuses() == [(1, "succeeded", None)] * 5
    assert not Lane.objects.exists()


def test_a_failure_is_written_down_and_what_comes_after_it_waits(settings: Any) -> None:
    with receiver(b"HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nwhy") as theirs:
        endpoint = endpoint_at(theirs, settings)
        first, _second = tell(endpoint.merchant), tell(endpoint.merchant)

        run_until(lambda: Delivery.objects.filter(status="failed").exists())

    assert received(theirs) == [first]
    tried = Delivery.objects.get(status="failed")
    assert (tried.response_status, tried.response_excerpt) == (500, "why")
    assert Delivery.objects.filter(status="pending").count() == 2


def test_with_redis_an_event_is_sent_at_once(settings: Any, monkeypatch: Any) -> None:
    # A process that is not woken looks again in an hour.
    monkeypatch.setattr("webhooks.delivery.drain.LOOK_EVERY_SECONDS", 3600)
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        with draining():
            for number in range(20):
                tell(endpoint.merchant, f"cus_{number}")
                until(lambda number=number: len(theirs.requests) > number)
                until(lambda: Lane.objects.count() == 0)

    assert len(theirs.requests) == 20


def test_without_redis_it_looks_by_itself(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.drain.LOOK_EVERY_SECONDS", 0.1)
    settings.REDIS_URL = "unix:///nonexistent/v.sock"
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        with draining():
            for number in range(3):
                tell(endpoint.merchant, f"cus_{number}")
                until(lambda number=number: len(theirs.requests) > number)

    assert len(theirs.requests) == 3


def test_the_listener_survives_a_redis_that_comes_late_and_goes_again(
    settings: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("webhooks.delivery.listening.TRY_AGAIN_SECONDS", 0.1)
    place, heard = OwnRedis(tmp_path), threading.Event()
    settings.REDIS_URL = place.url
    wakeups = Redis.from_url(place.url, retry=Retry(NoBackoff(), 0))
    with listening(heard.set):
        assert heard.wait(PATIENCE_SECONDS), "it does not say that it listens"
        for _ in range(2):
            place.kill()
            heard.clear()
            assert not heard.wait(0.2)
            place.start()
            assert heard.wait(PATIENCE_SECONDS), "it does not say that it listens again"
            heard.clear()
            wakeups.publish(CHANNEL, "")
            assert heard.wait(PATIENCE_SECONDS), "it does not listen"
    place.kill()
    wakeups.close()


@contextmanager
def listening(wake: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    task = asyncio.run_coroutine_threadsafe(listen(wake), loop)
    yield
    task.cancel()
    loop.call_soon_threadsafe(loop.call_later, 0.1, loop.stop)
    thread.join()
    loop.close()


def test_a_receiver_that_hangs_holds_nobody_up(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.drain.GRACE_SECONDS", 0.1)
    with receiver(receivers.never) as hangs, receiver() as healthy:
        bad, good = endpoint_at(hangs, settings), endpoint_at(healthy, settings)
        for number in range(30):
            tell(bad.merchant, f"cus_{number}")
            tell(good.merchant, f"cus_{number}")

        with draining():
            until(lambda: len(healthy.requests) == 30)
            assert not Delivery.objects.filter(endpoint=bad, attempted_at__isnull=False).exists()
            until(lambda: len(hangs.requests) >= 8)

    assert len(hangs.requests) == 8


# --- Ends and beginnings --------------------------------------------------------------------------


def test_what_is_under_way_at_the_end_of_a_run_is_finished_by_the_next(settings: Any) -> None:
    may_answer = threading.Event()
    with receiver(when(may_answer)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        drain = Drain(upkeep.chores())

        until(lambda: drain.run(seconds=0.1) or theirs.requests)
        assert statuses() == [(1, "pending", None)]
        may_answer.set()
        until(lambda: drain.run(seconds=0.1) or statuses() != [(1, "pending", None)])
        drain.close()

    assert statuses() == [(1, "succeeded", None)]
    assert len(theirs.requests) == 1


def test_a_pause_between_two_runs_spends_no_attempt(settings: Any, monkeypatch: Any) -> None:
    clock, may_answer = Clock(), threading.Event()
    for module in ("drain", "moments"):
        monkeypatch.setattr(f"webhooks.delivery.{module}.time", clock)
    with receiver(when(may_answer)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        drain = Drain(upkeep.chores())
        drain._runner.get_loop().time = clock.monotonic

        until(lambda: drain.run(seconds=0.1) or theirs.requests)
        clock.moved_seconds = settings.WEBHOOK_TIMEOUT_SECONDS + 1
        may_answer.set()
        until(lambda: drain.run(seconds=0.1) or statuses() != [(1, "pending", None)])
        drain.close()

    assert statuses() == [(1, "succeeded", None)]


class Clock:
    """Stands in for `time`: the machine's clocks, moved on."""

    moved_seconds = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.moved_seconds

    def time(self) -> float:
        return time.time() + self.moved_seconds


def when(may_answer: threading.Event) -> Callable[[Any], None]:
    def answer(wire: Any) -> None:
        may_answer.wait(PATIENCE_SECONDS)
        wire.sendall(receivers.OK)

    return answer


def test_a_stop_waits_a_little_for_what_is_under_way(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.drain.GRACE_SECONDS", PATIENCE_SECONDS)
    with receiver(slowly(0.5)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)

    assert statuses() == [(1, "succeeded", None)]


def test_a_stop_gives_back_what_does_not_end(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.drain.GRACE_SECONDS", 0.1)
    with receiver(receivers.never) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)

    assert statuses() == [(1, "pending", None)]
    assert Lane.objects.get().lease_id is None


def test_a_second_drain_in_one_process_is_refused() -> None:
    second = Drain(upkeep.chores())
    with draining():
        until(_only_one.locked)
        with pytest.raises(AlreadyDraining):
            second.run(seconds=1)
    second.close()


def test_what_was_claimed_too_long_ago_is_given_back_unsent(
    settings: Any, monkeypatch: Any
) -> None:
    release, released = lanes.release, list[int]()
    long_ago = Moment(time.monotonic() - 100, time.time() - 100)
    monkeypatch.setattr(Moment, "now", lambda: long_ago)
    monkeypatch.setattr(lanes, "release", lambda unsent: released.append(1) or release(unsent))
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)

        with draining():
            until(lambda: released)

    assert theirs.requests == []
    assert statuses() == [(1, "pending", None)]
    assert Lane.objects.get().lease_id is None
