"""Processes that deliver are killed, stopped, and told to end: nothing is lost or overtaken."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests import receivers
from tests.factories import EndpointFactory
from tests.receivers import Receiver, receiver
from tests.webhook_workers import LEASE_SECONDS, TIMEOUT_SECONDS, celery, worker
from tests.webhook_world import tell, tell_many
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PATIENCE_SECONDS = 20
PROMPT_SECONDS = 3


def until(is_so: Any, seconds: float = PATIENCE_SECONDS) -> float:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it took too long"
        time.sleep(0.02)
    return time.monotonic() - began


def endpoint_at(theirs: Receiver) -> Endpoint:
    return EndpointFactory(url=theirs.url)


def all_is_delivered(count: int) -> bool:
    done = Delivery.objects.filter(status="succeeded").count()
    return done == count and not Lane.objects.exists()


def received(theirs: Receiver) -> list[str]:
    return [request.headers["pf-delivery-id"] for request in theirs.requests]


def planned() -> list[str]:
    return list(Delivery.objects.order_by("sequence").values_list("id", flat=True))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_delivers_until_it_is_told_to_end(number: int, log: Path) -> None:
    with receiver() as theirs, worker(log, theirs.host) as process:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 3)
        until(lambda: all_is_delivered(3))

        process.signal(number)

        assert process.ends_with(PROMPT_SECONDS) == 0
    assert "webhooks_stopped" in process.log
    assert "Traceback" not in process.log


def test_celery_delivers_until_it_is_told_to_end(log: Path) -> None:
    with receiver() as theirs, worker(log, theirs.host, command=celery(log.parent)) as process:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 3)
        until(lambda: all_is_delivered(3))

        process.signal(signal.SIGTERM)

        assert process.ends_with(PROMPT_SECONDS) == 0
    assert "webhooks_stopped" in process.log
    assert "Traceback" not in process.log


def test_told_to_end_a_process_gives_its_leases_back(log: Path) -> None:
    with receiver(receivers.never) as theirs, worker(log, theirs.host) as process:
        endpoint = endpoint_at(theirs)
        tell(endpoint.merchant)
        until(lambda: theirs.requests)

        process.signal(signal.SIGTERM)

        assert process.ends_with(PROMPT_SECONDS + TIMEOUT_SECONDS) == 0
    assert Lane.objects.get().lease_id is None


def test_after_a_kill_the_next_process_goes_on_when_the_lease_is_over(log: Path) -> None:
    with receiver(slow) as theirs:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 5)
        with worker(log, theirs.host) as first:
            until(lambda: len(theirs.requests) == 2)
            first.signal(signal.SIGKILL)
        with worker(log, theirs.host):
            seconds = until(lambda: all_is_delivered(5))

    print(f"delivered {seconds:.1f} s after the kill")  # noqa: T201
    assert seconds < LEASE_SECONDS + 3
    first, *rest = planned()
    # What was under way when it was killed comes twice, and nothing else does.
    assert received(theirs) == [first, rest[0], *rest]


def test_a_process_that_stood_still_for_longer_than_its_lease_writes_nothing(log: Path) -> None:
    with receiver(slow) as theirs, worker(log, theirs.host) as first:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 5)
        until(lambda: len(theirs.requests) == 2)
        first.signal(signal.SIGSTOP)
        with worker(log.with_name("second"), theirs.host):
            until(lambda: all_is_delivered(5))
            before, (one, *rest) = received(theirs), planned()

            first.signal(signal.SIGCONT)
            tell(endpoint.merchant, "cus_2")

            until(lambda: all_is_delivered(6))
            time.sleep(1)

    assert before == [one, rest[0], *rest]
    assert len(received(theirs)) == len(before) + 1
    assert Delivery.objects.count() == 6


def slow(wire: Any) -> None:
    time.sleep(0.3)
    wire.sendall(receivers.OK)


@pytest.mark.proof
@pytest.mark.timeout(120)
def test_between_two_runs_of_the_task_nobody_waits(log: Path) -> None:
    latencies = []
    with receiver() as theirs, worker(log, theirs.host, command=celery(log.parent)):
        endpoint = endpoint_at(theirs)
        ends_at = time.monotonic() + 70
        while time.monotonic() < ends_at:
            tell(endpoint.merchant, f"cus_{len(latencies)}")
            told_at = time.time()
            until(lambda: len(theirs.requests) > len(latencies))
            latencies.append(theirs.requests[-1].at - told_at)
            time.sleep(0.05)

    print(f"{len(latencies)} deliveries in 70 s, the slowest took {max(latencies):.2f} s")  # noqa: T201
    assert max(latencies) < 1.2
