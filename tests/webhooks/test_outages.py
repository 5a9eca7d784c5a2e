"""Outages of an installation: no event is lost or overtaken, and no attempt is spent on ours.

The proof has the real lease and deadline, the gate short ones.
"""

import json
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from redis import Redis
from redis.exceptions import RedisError

from devstack.servers import Servers
from tests.stage import receivers
from tests.stage.lengths import chance, length, tried
from tests.stage.own_servers import manage, restart
from tests.stage.receivers import Receiver
from tests.stage.web_process import Running, WebProcess
from tests.stage.webhook_journal import Faults, Findings, Got, Journal

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(1800)]

MERCHANTS, ENDPOINTS_EACH, CUSTOMERS_EACH = 3, 2, 5
# The real lease is 45 s, and the real deadline 10 s. A fifth of what lies between has to be long
# enough to tell that the network is gone.
OUR_TIMES = length(short={"WEBHOOK_LEASE_SECONDS": "20", "WEBHOOK_TIMEOUT_SECONDS": "2"}, full={})
# Longer than the lease.
STANDS_STILL_SECONDS = length(short=22, full=60)
NETWORK_GONE_SECONDS = length(short=10, full=120)
PATIENCE_SECONDS = 300
EVENTS = "SELECT id, aggregate_id, sequence FROM events_event"
PENDING = "SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'"
ATTEMPTS = "SELECT status, count(*) FROM webhooks_delivery GROUP BY status"


def take(wire: socket.socket) -> None:
    wire.sendall(receivers.OK)


class Backend:
    """A merchant's backend that changes its customers without a pause, while it can."""

    def __init__(self, web: WebProcess, key: str) -> None:
        self._url, self._session = f"{web.url}/v1", requests.Session()
        self._session.headers["Authorization"] = f"Bearer {key}"
        self.doors: dict[str, Receiver] = {}
        self.customers: list[str] = []

    def open(self, door: Receiver) -> None:
        body = {"url": door.url, "enabled_events": ["*"]}
        self.doors[self._post("/webhook_endpoints", body)["id"]] = door

    def begin(self) -> None:
        self.customers = [self._post("/customers", {})["id"] for _ in range(CUSTOMERS_EACH)]

    def keep_changing(self, stopped: threading.Event) -> None:
        number, draws = 0, chance(self.customers)
        while not stopped.wait(0.2):
            number += 1
            customer = draws.choice(self.customers)
            with suppress(requests.RequestException, KeyError):
                self._post(f"/customers/{customer}", {"name": f"Number {number}"})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._session.post(self._url + path, json=body, timeout=30).json()


class Outages:
    """The whole installation: a web process, two that deliver, and what befalls them."""

    def __init__(self, servers: Servers, settings: dict[str, str], home: Path) -> None:
        self.fired = Counter[str]()
        self._servers, self._settings, self._home = servers, settings, home
        self._faults, self._stopped = Faults(), threading.Event()
        self._journal = Journal(self._faults.explain)
        self._doors = [Receiver(take) for _ in range(MERCHANTS * ENDPOINTS_EACH)]
        settings |= OUR_TIMES
        settings["WEBHOOK_DEV_HOSTS"] = ",".join(door.host for door in self._doors)
        self._web = WebProcess(home / "web.log", **settings)
        self.senders = [self._sender(number) for number in range(2)]
        self._backends = [self._backend(number) for number in range(MERCHANTS)]
        self._tellers = [
            threading.Thread(target=backend.keep_changing, args=(self._stopped,), daemon=True)
            for backend in self._backends
        ]
        for teller in self._tellers:
            teller.start()

    def _sender(self, number: int) -> Running:
        command = ["manage", "deliver_webhooks"]
        return Running(self._home / f"sender {number}.log", command, **self._settings)

    def _backend(self, number: int) -> Backend:
        owner = ["--name", "Shop", "--email", f"owner@shop{number}.example"]
        website = ["--website", f"https://shop{number}.example", "--json"]
        said = json.loads(manage(self._settings, "create_merchant", *owner, *website))
        backend = Backend(self._web, said["secret_key"])
        for door in self._doors[number::MERCHANTS]:
            backend.open(door)
        backend.begin()
        return backend

    @property
    def received(self) -> int:
        return sum(len(door.requests) for door in self._doors)

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        """Let deliveries flow, then something befall them for as long as the block lasts."""
        self.flow()
        self.fired[name] += 1
        over = threading.Event()
        noting = threading.Thread(target=self._note_until, args=(over,))
        noting.start()
        try:
            yield
        finally:
            over.set()
            noting.join()
        self.flow()

    def flow(self) -> None:
        """Wait until deliveries arrive."""
        before = self.received
        self.until(lambda: self.received > before + 20)

    def _note_until(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            self._faults.times.append(time.time())

    def network_gone(self, seconds: float) -> None:
        for door in self._doors:
            door.hang_up()
        self.outlast(seconds)
        for door in self._doors:
            door.listen(door.port)

    def outlast(self, seconds: float) -> None:
        """Let a fault last for so long by the database's clock, which ends the leases."""
        [(over_at,)] = self.ask(f"SELECT now() + interval '{seconds} seconds'")
        self.until(lambda: self.ask("SELECT now()")[0][0] > over_at)

    def settle(self) -> Findings:
        """Tell nothing any more, wait until nothing is owed, and look at all that was got."""
        self._stopped.set()
        for teller in self._tellers:
            teller.join()
        self.until(lambda: self.ask(PENDING) == [(0,)])
        events = {row[0]: (row[1], row[2]) for row in self.ask(EVENTS)}
        told = Counter[tuple[str, str]]()
        for backend in self._backends:
            for endpoint_id, door in backend.doors.items():
                told.update(
                    (endpoint_id, name) for name, _ in events.values() if name in backend.customers
                )
                self._take_down(endpoint_id, door, events)
        return self._journal.examine(told)

    def _take_down(self, endpoint_id: str, door: Receiver, events: dict[str, Any]) -> None:
        for request in door.requests:
            name, sequence = events[request.headers["pf-event-id"]]
            delivery_id = request.headers["pf-delivery-id"]
            got = Got((endpoint_id, name), sequence, delivery_id, True, request.at)
            self._journal.got.append(got)

    def ask(self, query: str) -> list[Any]:
        with psycopg.connect(self._settings["DATABASE_URL"]) as connection:
            return connection.execute(query).fetchall()

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, [sender.log[-2000:] for sender in self.senders]
            time.sleep(0.2)

    def end(self) -> None:
        self._stopped.set()
        for process in (*self.senders, self._web):
            process.kill()
        for door in self._doors:
            door.hang_up()


@pytest.fixture
def outages(
    own_servers: Servers, own_settings: dict[str, str], tmp_path: Path
) -> Iterator[Outages]:
    stage = Outages(own_servers, own_settings, tmp_path)
    yield stage
    stage.end()


def test_no_outage_loses_an_event_or_lets_one_overtake(
    own_servers: Servers,
    own_settings: dict[str, str],
    outages: Outages,
) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        with outages.fault("PostgreSQL restarted"):
            restart(own_servers, number)
    with outages.fault("Redis flushed"), suppress(RedisError):
        Redis.from_url(own_settings["REDIS_URL"]).flushall()
    with outages.fault("Redis stopped"):
        own_servers.processes["valkey"].kill()
        own_servers.processes["valkey"].wait()
        outages.flow()
        own_servers.start_valkey()
    with outages.fault("SIGSTOP"):
        outages.senders[0].signal(signal.SIGSTOP)
        outages.outlast(STANDS_STILL_SECONDS)
        outages.senders[0].signal(signal.SIGCONT)
    with outages.fault("network gone"):
        outages.network_gone(NETWORK_GONE_SECONDS)
    findings = outages.settle()

    attempts = dict(outages.ask(ATTEMPTS))
    print(f"{outages.received} deliveries, {dict(outages.fired)}: {findings}; {attempts}")  # noqa: T201
    tried(outages.received, "deliveries around outages")
    assert sum(outages.fired.values()) == 6
    assert findings.is_clean, findings
    assert attempts.keys() == {"succeeded"}, "somebody's attempts were spent"
