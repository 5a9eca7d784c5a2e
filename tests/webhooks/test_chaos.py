"""Processes that deliver die and stand still under load: nothing is lost, nothing overtaken."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from core import clock
from events import outbox
from events.models import Event
from tests.stage import receivers
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.lease_journal import LeaseJournal, lease_journal
from tests.stage.lengths import chance, length, tried
from tests.stage.receivers import Receiver, Request
from tests.stage.webhook_journal import Findings, Got, Journal
from tests.stage.webhook_workers import LEASE_SECONDS, Worker
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = [
    pytest.mark.proof(part="chaos"),
    pytest.mark.django_db(transaction=True),
]

REFUSED_PART = 0.02
BURST = 50
PATIENCE_SECONDS = 240
SORRY = b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"
KILL, STAND_STILL = "kill -9", "SIGSTOP"


class Choosy(Receiver):
    """Takes most of what it gets, refuses some, each after a moment; remembers which."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda _wire: None)
        self._fault_now = chance("receiver", number)
        self.seen: list[tuple[Request, bool]] = []

    def reply(self, wire: Any, request: Request) -> None:
        is_accepted = self._fault_now.random() >= REFUSED_PART
        self.seen.append((request, is_accepted))
        time.sleep(self._fault_now.random() / 50)
        wire.sendall(receivers.OK if is_accepted else SORRY)


class Chaos:
    """Two merchants with two endpoints each, two processes, and what befalls them."""

    def __init__(
        self, directory: Path, leased: LeaseJournal, *, without: str | None = None
    ) -> None:
        self.faults, self.told = Counter[str](), Counter[tuple[str, str]]()
        self._directory, self._without = directory, without
        self._random = chance("chaos")
        self._leased, self._journal = leased, Journal(leased.explain)
        self._merchants = [MerchantFactory(), MerchantFactory()]
        self._receivers = [Choosy(seed) for seed in range(4)]
        self._endpoints = [
            EndpointFactory(merchant=self._merchants[number % 2], url=theirs.url)
            for number, theirs in enumerate(self._receivers)
        ]
        self._workers = [self._worker(), self._worker()]

    @property
    def received(self) -> int:
        return sum(len(theirs.seen) for theirs in self._receivers)

    def tell(self, events: int) -> None:
        """Tell so many events of the merchants' objects, many at once, to both processes."""
        for process in self._workers:
            process.started()
        for _ in range(events // BURST):
            with transaction.atomic():
                for _ in range(BURST):
                    self._tell_one()

    def _tell_one(self) -> None:
        number = self._random.randrange(2)
        object_id = f"cus_{number}{self._random.randrange(100)}"
        outbox.record(
            self._merchants[number], "customer.updated", {"id": object_id, "object": "customer"}
        )
        for endpoint in self._endpoints[number::2]:
            self.told[endpoint.id, object_id] += 1

    def strike(self, fault: str) -> None:
        """Let one of the processes die or stand still while something is under way."""
        before, number = self.received, self._random.randrange(2)
        until(lambda: self.received > before + 10)
        # A drawn moment of what is under way: no fact names all of them.
        time.sleep(self._random.random() / 20)
        worker = self._workers[number]
        self.faults[fault] += 1
        if fault == KILL:
            worker.kill()
            self._workers[number] = self._worker()
        else:
            worker.signal(signal.SIGSTOP)
            before_it = leases()
            # The other one takes over each lane that it had, when its lease has run out.
            until(lambda: not before_it & leases())
            worker.signal(signal.SIGCONT)

    def settle(self) -> Findings:
        """Let the clock walk until nothing is owed any more, then look at all that was got."""
        until(self._is_nothing_owed)
        sequences = {event.id: event for event in Event.objects.defer("body")}
        for endpoint, theirs in zip(self._endpoints, self._receivers, strict=True):
            for request, is_accepted in theirs.seen:
                event = sequences[request.headers["pf-event-id"]]
                lane = endpoint.id, event.aggregate_id
                delivery_id = request.headers["pf-delivery-id"]
                got = Got(lane, event.sequence, delivery_id, is_accepted, request.at)
                self._journal.got.append(got)
        self._leased.read()
        findings = self._journal.examine(self.told)
        if findings.histories:
            print(findings.histories)  # noqa: T201
        return findings

    def end(self) -> None:
        for process in self._workers:
            process.kill()
        for theirs in self._receivers:
            theirs.close()

    def _is_nothing_owed(self) -> bool:
        if not Lane.objects.filter(due_at__lte=clock.now()).exists():
            clock.advance(timedelta(minutes=1))  # To the next attempts at what was refused.
        return not Lane.objects.exists()

    def _worker(self) -> Worker:
        hosts = [theirs.host for theirs in self._receivers]
        log = self._directory / f"worker {time.monotonic()}"
        return Worker(log, *hosts, without=self._without)


def leases() -> set[Any]:
    """Return the leases that lanes have now; each claim is another one."""
    return set(Lane.objects.exclude(lease_id=None).values_list("lease_id", flat=True))


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


@contextmanager
def chaos(directory: Path, **options: Any) -> Iterator[Chaos]:
    with lease_journal(LEASE_SECONDS) as leased:
        stage = Chaos(directory, leased, **options)
        try:
            yield stage
        finally:
            stage.end()


def live_through(stage: Chaos, *, events: int, faults: list[str]) -> Findings:
    for fault in faults:
        stage.tell(events // len(faults))
        stage.strike(fault)
    findings = stage.settle()
    print(  # noqa: T201
        f"{stage.received} deliveries of {sum(stage.told.values())} in {len(stage.told)} lanes,"
        f" {dict(stage.faults)}: {findings}"
    )
    return findings


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_overtaken_when_processes_die(tmp_path: Path) -> None:
    faults = [KILL, STAND_STILL, KILL] * length(short=1, full=5)
    with chaos(tmp_path) as stage:
        findings = live_through(stage, events=800 * len(faults), faults=faults)

    tried(stage.received, "deliveries while processes die")
    assert stage.faults == Counter(faults)
    assert findings.is_clean, findings
    assert findings.explained, "no fault hit anything that was under way"
    assert Delivery.objects.filter(status="pending").count() == 0
    assert set(Endpoint.objects.values_list("status", flat=True)) == {"enabled"}


@pytest.mark.planted
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("guard", ["fence", "order", "lease"])
def test_the_check_sees_a_process_without(guard: str, tmp_path: Path) -> None:
    # Whether a fault hits what the guard is there for is luck.
    assert any(not lived_through_without(guard, tmp_path).is_clean for _ in range(8))


def lived_through_without(guard: str, directory: Path) -> Findings:
    with chaos(directory, without=guard) as stage:
        return live_through(stage, events=800, faults=[STAND_STILL, KILL])
