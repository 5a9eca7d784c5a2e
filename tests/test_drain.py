"""The loop: what is due is sent, in order, at once and to everybody; and it stops when told."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from django.db import connection, transaction
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from events import outbox
from merchants.models import Merchant
from tests import receivers
from tests.factories import EndpointFactory, MerchantFactory
from tests.receivers import Receiver, receiver
from tests.redis_places import OwnRedis
from webhooks.drain import AlreadyDraining, Drain, _only_one
from webhooks.listening import listen
from webhooks.models import Delivery, Endpoint, Lane, SigningSecret
from webhooks.moments import Moment
from webhooks.sender import NotSent, Sender
from webhooks.wakeups import CHANNEL

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 10


@pytest.fixture(autouse=True)
def _short(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 1.0
    settings.WEBHOOK_LEASE_SECONDS = 10.0


@contextmanager
def draining(**options: Any) -> Iterator[Drain]:
    """A drain that runs beside the test, as it does in a process of its own."""
    drain = Drain(**options)
    thread = threading.Thread(target=drain.run, kwargs={"seconds": None})
    thread.start()
    try:
        yield drain
    finally:
        drain.stop()
        thread.join(PATIENCE_SECONDS)
        drain.close()
        assert not thread.is_alive()


def run_until(is_so: Callable[[], Any]) -> None:
    with draining():
        until(is_so)


def until(is_so: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> float:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it took too long"
        time.sleep(0.01)
    return time.monotonic() - began


def endpoint_at(theirs: Receiver, settings: Any, **facts: Any) -> Endpoint:
    settings.WEBHOOK_DEV_HOSTS = [*settings.WEBHOOK_DEV_HOSTS, theirs.host]
    return EndpointFactory(url=theirs.url, **facts)


def tell(merchant: Merchant, object_id: str = "cus_1") -> str:
    with transaction.atomic():
        event = outbox.record(merchant, "customer.updated", {"id": object_id, "object": "customer"})
    return event.id


def received(theirs: Receiver) -> list[str]:
    return [request.headers["pf-event-id"] for request in theirs.requests]


def statuses() -> list[tuple[int, str, str | None]]:
    rows = Delivery.objects.order_by("sequence", "attempt")
    return [(row.attempt, row.status, row.error) for row in rows]


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


def test_with_redis_an_event_is_sent_at_once(settings: Any) -> None:
    latencies = []
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        with draining():
            until(lambda: Lane.objects.count() == 0)
            time.sleep(0.5)
            for number in range(20):
                tell(endpoint.merchant, f"cus_{number}")
                told_at = time.time()
                until(lambda number=number: len(theirs.requests) > number)
                latencies.append(theirs.requests[-1].at - told_at)
                time.sleep(0.05)

    print(f"median of {len(latencies)}: {median(latencies) * 1000:.0f} ms")  # noqa: T201
    assert median(latencies) <= 0.05


def test_without_redis_it_takes_a_second(settings: Any) -> None:
    settings.REDIS_URL = "unix:///nonexistent/v.sock"
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        with draining():
            for number in range(3):
                tell(endpoint.merchant, f"cus_{number}")
                assert until(lambda number=number: len(theirs.requests) > number) <= 1.2


def test_the_listener_survives_a_redis_that_comes_late_and_goes_again(
    settings: Any, tmp_path: Path
) -> None:
    place, heard = OwnRedis(tmp_path), threading.Event()
    settings.REDIS_URL = place.url
    wakeups = Redis.from_url(place.url, retry=Retry(NoBackoff(), 0))
    with listening(heard.set):
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
    monkeypatch.setattr("webhooks.drain.GRACE_SECONDS", 0.1)
    settings.WEBHOOK_TIMEOUT_SECONDS, settings.WEBHOOK_LEASE_SECONDS = 9.0, 30.0
    with receiver(receivers.never) as hangs, receiver() as healthy:
        bad, good = endpoint_at(hangs, settings), endpoint_at(healthy, settings)
        for number in range(30):
            tell(bad.merchant, f"cus_{number}")
            tell(good.merchant, f"cus_{number}")

        with draining():
            assert until(lambda: len(healthy.requests) == 30) < 5
            until(lambda: len(hangs.requests) >= 8)

    assert len(hangs.requests) == 8


# --- Ends and beginnings --------------------------------------------------------------------------


def test_what_is_under_way_at_the_end_of_a_run_is_finished_by_the_next(settings: Any) -> None:
    with receiver(slowly(0.4)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        drain = Drain()

        drain.run(seconds=0.2)
        assert statuses() == [(1, "pending", None)]
        drain.run(seconds=0.6)
        drain.close()

    assert statuses() == [(1, "succeeded", None)]
    assert len(theirs.requests) == 1


def test_a_pause_between_two_runs_spends_no_attempt(settings: Any) -> None:
    with receiver(slowly(0.5)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        drain = Drain()

        while not theirs.requests:
            drain.run(seconds=0.1)
        time.sleep(1.2)
        until(lambda: drain.run(seconds=0.3) or statuses() != [(1, "pending", None)])
        drain.close()

    assert statuses() == [(1, "succeeded", None)]


def test_a_stop_waits_a_little_for_what_is_under_way(settings: Any) -> None:
    with receiver(slowly(0.5)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)

    assert statuses() == [(1, "succeeded", None)]


def test_a_stop_gives_back_what_does_not_end(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.drain.GRACE_SECONDS", 0.1)
    with receiver(receivers.never) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)

    assert statuses() == [(1, "pending", None)]
    assert Lane.objects.get().lease_id is None


def test_a_second_drain_in_one_process_is_refused() -> None:
    second = Drain()
    with draining():
        until(_only_one.locked)
        with pytest.raises(AlreadyDraining):
            second.run(seconds=1)
    second.close()


def test_what_was_claimed_too_long_ago_is_given_back_unsent(
    settings: Any, monkeypatch: Any
) -> None:
    long_ago = Moment(time.monotonic() - 5, time.time() - 5)
    monkeypatch.setattr(Moment, "now", lambda: long_ago)
    with receiver() as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)

        with draining():
            time.sleep(0.5)

    assert theirs.requests == []
    assert statuses() == [(1, "pending", None)]
    assert Lane.objects.get().lease_id is None


# --- When things go wrong -------------------------------------------------------------------------


def test_a_database_that_hangs_up_loses_nothing(settings: Any) -> None:
    with receiver(slowly(0.3)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)
            hung_up = hang_up_on_everybody_else()
            until(lambda: statuses() == [(1, "succeeded", None)])
            tell(endpoint.merchant, "cus_2")
            until(lambda: len(statuses()) == 2 and not Lane.objects.exists())

    assert hung_up > 0
    assert len(theirs.requests) == 2


def test_our_own_network_spends_nobodys_attempts(settings: Any) -> None:
    acme, globex, initech = (MerchantFactory() for _ in range(3))
    theirs = [Receiver(lambda wire: wire.sendall(receivers.OK)) for _ in range(6)]
    for merchant, gone in zip((acme, acme, globex, globex, initech, initech), theirs, strict=True):
        gone.close()
        endpoint_at(gone, settings, merchant=merchant)
    for merchant in (acme, globex, initech):
        tell(merchant)

    with draining():
        time.sleep(2.5)
        assert statuses() == [(1, "pending", None)] * 6
        with receiver() as back:
            Endpoint.objects.update(url=back.url)
            settings.WEBHOOK_DEV_HOSTS = [back.host]
            until(lambda: statuses() == [(1, "succeeded", None)] * 6)


def test_one_merchant_alone_pauses_nobody(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.own_faults.QUIET_SECONDS", 0.2)
    hostile = MerchantFactory()
    with receiver() as healthy, draining() as drain:
        good = endpoint_at(healthy, settings)
        tell(good.merchant)
        until(lambda: healthy.requests)
        refuse(hostile, settings, endpoints=16)
        time.sleep(1)
        tell(good.merchant)

        until(lambda: len(healthy.requests) == 2)
        assert not drain._faults.is_paused


def test_in_a_pause_who_can_be_reached_is_found_among_many_who_cannot(settings: Any) -> None:
    with receiver() as healthy, draining() as drain:
        for _ in range(4):
            refuse(MerchantFactory(), settings, endpoints=4)
        until(lambda: drain._faults.is_paused)
        good = endpoint_at(healthy, settings)
        tell(good.merchant)

        until(lambda: healthy.requests)


def refuse(merchant: Merchant, settings: Any, *, endpoints: int) -> None:
    """Tell of something to many endpoints that nobody listens at."""
    with receiver() as gone:
        for _ in range(endpoints):
            endpoint_at(gone, settings, merchant=merchant)
    for number in range(10):
        tell(merchant, f"cus_{number}")


def test_without_files_to_open_nobodys_attempts_are_spent(settings: Any, monkeypatch: Any) -> None:
    post, tried = Sender.post, []

    async def lack(sender: Sender, claimed: Any) -> Any:
        tried.append(claimed)
        if len(tried) == 1:
            raise NotSent
        return await post(sender, claimed)

    monkeypatch.setattr("webhooks.drain.REST_SECONDS", 0.2)
    monkeypatch.setattr(Sender, "post", lack)
    with receiver() as theirs:
        tell(endpoint_at(theirs, settings).merchant)
        run_until(lambda: not Lane.objects.exists())

    assert statuses() == [(1, "succeeded", None)]


def test_nothing_is_sent_unsigned(settings: Any) -> None:
    with receiver() as theirs, receiver() as others:
        bad, good = endpoint_at(theirs, settings), endpoint_at(others, settings)
        SigningSecret.objects.filter(endpoint=bad).update(sealed=b"nonsense")
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: not Lane.objects.filter(endpoint=good).exists())

    assert theirs.requests == []
    assert Delivery.objects.get(endpoint=bad).status == "pending"


def test_a_mistake_of_ours_counts_as_an_attempt_and_keeps_nobody(
    settings: Any, monkeypatch: Any
) -> None:
    post = Sender.post

    async def stumble(sender: Sender, claimed: Any) -> Any:
        if claimed.endpoint_id == bad.id:
            raise ZeroDivisionError
        return await post(sender, claimed)

    monkeypatch.setattr(Sender, "post", stumble)
    with receiver() as theirs:
        bad, good = EndpointFactory(), endpoint_at(theirs, settings)
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: Delivery.objects.exclude(status="pending").count() == 2)

    assert Delivery.objects.get(endpoint=bad, attempt=1).error == "connection_error"
    assert Delivery.objects.get(endpoint=good).status == "succeeded"


@pytest.mark.parametrize("errand", ["notices.send_due", "stopping.stop_pending", "drain.listen"])
def test_a_mistake_in_what_is_done_beside_ends_neither_it_nor_deliveries(
    settings: Any, monkeypatch: Any, errand: str
) -> None:
    stumbled: list[float] = []

    def stumble(*_options: Any) -> int:
        stumbled.append(time.monotonic())
        raise ValueError("odd")

    monkeypatch.setattr("webhooks.errands.AGAIN_AFTER_SECONDS", 0.1)
    monkeypatch.setattr("webhooks.errands.MAIL_EVERY_SECONDS", 0.1)
    monkeypatch.setattr(f"webhooks.{errand}", stumble)
    with receiver() as theirs, draining():
        until(lambda: len(stumbled) > 1)
        tell(endpoint_at(theirs, settings).merchant)
        until(lambda: len(theirs.requests) == 1)


def test_a_stop_does_not_wait_for_a_mail(settings: Any, monkeypatch: Any) -> None:
    is_sending, is_over = threading.Event(), threading.Event()
    monkeypatch.setattr("webhooks.notices.send_due", lambda: is_sending.set() or is_over.wait(20))
    with draining():
        assert is_sending.wait(PATIENCE_SECONDS)
        told_at = time.monotonic()

    took = time.monotonic() - told_at
    is_over.set()
    assert took < 3


def test_an_answer_that_cannot_be_written_keeps_no_other(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.sender.excerpt", lambda body, **_: body.decode() or None)
    with (
        receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x00") as poison,
        receiver() as theirs,
    ):
        bad, good = endpoint_at(poison, settings), endpoint_at(theirs, settings)
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: poison.requests and not Lane.objects.filter(endpoint=good).exists())

    assert Delivery.objects.get(endpoint=bad).status == "pending"
    assert Delivery.objects.get(endpoint=good).status == "succeeded"


def slowly(seconds: float) -> Callable[[Any], None]:
    def answer(wire: Any) -> None:
        time.sleep(seconds)
        wire.sendall(receivers.OK)

    return answer


def hang_up_on_everybody_else() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]
