"""Processes that deliver are killed, stopped, and told to end: nothing is lost or overtaken."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.stage import receivers
from tests.stage.factories import EndpointFactory
from tests.stage.lengths import length, tried
from tests.stage.receivers import Receiver, receiver
from tests.stage.webhook_workers import celery, worker
from tests.stage.webhook_world import tell, tell_many
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# A hang is ended after this.
PATIENCE_SECONDS = 120
# The task's own runs last for 30 s.
RUN_SECONDS = length(short=1, full=30)
RUNS = length(short=5, full=4)
# A wait for the end of a lease is found out; a busy machine is not.
NO_HURRY = {"WEBHOOK_TIMEOUT_SECONDS": "20", "WEBHOOK_LEASE_SECONDS": "60"}


def until(is_so: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


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

        assert process.ends_with(PATIENCE_SECONDS) == 0
    assert "webhooks_stopped" in process.log
    assert "Traceback" not in process.log


def test_celery_delivers_until_it_is_told_to_end(log: Path) -> None:
    with receiver() as theirs, worker(log, theirs.host, command=celery(log.parent)) as process:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 3)
        until(lambda: all_is_delivered(3))

        process.signal(signal.SIGTERM)

        assert process.ends_with(PATIENCE_SECONDS) == 0
    assert "webhooks_stopped" in process.log
    assert "Traceback" not in process.log


def test_told_to_end_a_process_gives_its_leases_back(log: Path) -> None:
    with receiver(receivers.never) as theirs, worker(log, theirs.host) as process:
        endpoint = endpoint_at(theirs)
        tell(endpoint.merchant)
        until(lambda: theirs.requests)

        process.signal(signal.SIGTERM)

        assert process.ends_with(PATIENCE_SECONDS) == 0
    assert Lane.objects.get().lease_id is None


def test_after_a_kill_the_next_process_goes_on_when_the_lease_is_over(log: Path) -> None:
    with receiver(slow) as theirs:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 5)
        with worker(log, theirs.host) as first:
            until(lambda: len(theirs.requests) == 2)
            first.signal(signal.SIGKILL)
        with worker(log, theirs.host):
            until(lambda: all_is_delivered(5))

    first, *rest = planned()
    # Deliveries that were under way when it was killed come twice, and no others do.
    assert received(theirs) == [first, rest[0], *rest]


def test_a_process_that_stood_still_for_longer_than_its_lease_writes_nothing(log: Path) -> None:
    with receiver(slow) as theirs, worker(log, theirs.host) as first:
        endpoint = endpoint_at(theirs)
        tell_many(endpoint.merchant, 5)
        until(lambda: len(theirs.requests) == 2)
        first.signal(signal.SIGSTOP)
        with worker(log.with_name("second"), theirs.host):
            # It has taken the lane over, and has something under way in it.
            until(lambda: len(theirs.requests) == 4)
            first.signal(signal.SIGCONT)
            until(lambda: all_is_delivered(5))
        before, (one, *rest) = received(theirs), planned()

        tell(endpoint.merchant, "cus_2")
        # The first alone is left to deliver this; then it has no old request any more.
        until(lambda: all_is_delivered(6))
        first.signal(signal.SIGTERM)
        assert first.ends_with(PATIENCE_SECONDS) == 0

    assert before == [one, rest[0], *rest]
    assert len(received(theirs)) == len(before) + 1
    assert Delivery.objects.count() == 6


def slow(wire: Any) -> None:
    """Take a moment: so something is under way when a process is killed, stopped or ends."""
    time.sleep(0.3)
    wire.sendall(receivers.OK)


@pytest.mark.proof(part="deliveries")
@pytest.mark.timeout(600)
def test_between_two_runs_of_the_task_nobody_waits(log: Path) -> None:
    told, times = 0, NO_HURRY | {"RUN_SECONDS": str(RUN_SECONDS)}
    command = celery(log.parent, "tests.stage.short_runs")
    with receiver(slow) as theirs, worker(log, theirs.host, command=command, **times) as process:
        endpoint = endpoint_at(theirs)
        while process.log.count("run_ended") < RUNS:
            tell(endpoint.merchant, f"cus_{told}")
            told += 1
            until(lambda: len(theirs.requests) == told)  # noqa: B023
        until(lambda: all_is_delivered(told))

    tried(told, f"deliveries around the ends of {RUNS} runs")
    # A delivery that waited for the end of a lease would have been sent twice.
    assert len(theirs.requests) == told
