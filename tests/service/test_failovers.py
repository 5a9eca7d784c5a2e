"""Two of each process behind a proxy: PostgreSQL fails over twice, and each process is restarted.

Nothing is lost or doubled, and all goes on by itself within 15 seconds of a writable primary.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
import requests

from core.rounds import KEY as ROUNDS
from devstack.servers import Servers
from devstack.state import ROOT
from tests.stage.factories import payment
from tests.stage.front_proxies import BEHIND_IT, HOST, Nginx
from tests.stage.kills import until
from tests.stage.lengths import chance, tried
from tests.stage.own_ports import own_ports
from tests.stage.own_servers import manage, migrated
from tests.stage.receivers import OK, Receiver, Request
from tests.stage.standbys import Pair
from tests.stage.two_of_each import KINDS, TwoOfEach
from tests.stage.web_process import Running, WebProcess
from tests.stage.webhook_journal import Faults, Findings, Got, Journal

pytestmark = [
    pytest.mark.proof(part="chaos"),
    pytest.mark.only_full("test_two_of_each.py kills one of each; core/test_promoted_standby.py"),
    pytest.mark.timeout(1800),
]

OWNER = ("--name", "Acme", "--email", "owner@acme.example", "--website", "https://acme.example")
CLIENTS, ENDPOINTS = 2, 2
# Payments between two faults.
PAYMENTS = 10
PATIENCE_SECONDS = 240
RECOVERED_SECONDS = 15
# The proxy answers 502 for a web process that is gone.
HONEST_FAILURES = {409, 500, 502, 503}
# Of each kind the first is killed, and the second is stopped.
ENDS = ((0, signal.SIGKILL), (1, signal.SIGTERM))
# A bank that has no record of a payment is believed after several inquiries.
DAYS = 8
PAID_OR_NOT = {"succeeded", "requires_payment_method"}
REFUSED_PART = 0.02
SORRY = b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"


class House(TwoOfEach):
    """Two of each, of which the web processes are found at their addresses after a restart too."""

    def __init__(self, settings: dict[str, str], home: Path, receiver: Receiver) -> None:
        self._ports = own_ports("0", "1")
        super().__init__(settings, home, receiver)

    def all(self) -> list[Running]:
        return [one for kind in KINDS for one in getattr(self, kind)]

    def end(self, kind: str, at: int, number: int) -> None:
        """End a process by a signal; a supervisor kills all that it has started with it."""
        process = getattr(self, kind)[at]
        if number == signal.SIGTERM:
            process.stop()
            return
        children = process.workers()
        process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()

    def start(self, kind: str, at: int) -> None:
        getattr(self, kind)[at] = self._started(kind, at, ROOT)

    def _started(self, kind: str, at: int, code: Path) -> Running:
        if kind == "webs":
            log = self.home / f"web{at}-{next(self._numbers)}.log"
            bind = f"127.0.0.1:{self._ports[str(at)]}"
            return WebProcess(log, **{**self.settings, "WEB_BIND": bind})
        return super()._started(kind, at, code)


class Choosy(Receiver):
    """Takes most of what it gets, and remembers what it took."""

    def __init__(self, draws: random.Random) -> None:
        super().__init__(lambda _wire: None)
        self._draws = draws
        self.seen: list[tuple[Request, bool]] = []

    def reply(self, wire: Any, request: Request) -> None:
        is_accepted = self._draws.random() >= REFUSED_PART
        self.seen.append((request, is_accepted))
        wire.sendall(OK if is_accepted else SORRY)


class Shop:
    """A merchant who pays and refunds through the proxy without a pause, and insists."""

    def __init__(self, nginx: Nginx, secret_key: str) -> None:
        self._nginx, self.secret_key = nginx, secret_key
        self.stopped = threading.Event()
        self.answers: Counter[int | None] = Counter()
        self.payments: dict[str, Any] = {}
        self.refunds: dict[str, Any] = {}

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
        """:raises OSError: no answer came."""
        headers = {"Authorization": f"Bearer {self.secret_key}", "Content_Type": "application/json"}
        if key:
            headers["Idempotency_Key"] = key
        content = None if body is None else json.dumps(body).encode()
        status, _headers, answer = self._nginx.ask(method, f"/v1{path}", content, **headers)
        return status, json.loads(answer) if status < 500 else None

    def insist(self, path: str, body: Any, key: str) -> Any:
        """Repeat the request until it is answered for good."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                status, answer = self.ask("POST", path, body, key)
            except OSError:
                status, answer = None, None
            self.answers[status] += 1
            assert status in {None, 200, *HONEST_FAILURES}, (status, answer)
            if status == 200:
                return answer
            time.sleep(0.1)
        raise AssertionError(f"no answer for {key}")

    def keep_paying(self, client: int) -> None:
        number = 0
        while not self.stopped.is_set():
            number += 1
            key = f"{client}-{number}"
            paid = self.payments[key] = self.insist("/payment_intents", payment(), key)
            if number % 3 == 0 and paid["status"] == "succeeded":
                told = {"payment_intent": paid["id"], "amount": 100}
                self.refunds[key] = self.insist("/refunds", told, f"refund-{key}")

    def await_paid(self, more: int = PAYMENTS) -> None:
        before = len(self.payments)
        until(lambda: len(self.payments) >= before + more, PATIENCE_SECONDS)


class Stage:
    """The installation, its merchant, and what befalls them."""

    def __init__(self, servers: Servers, home: Path) -> None:
        self.pair = Pair()
        self.receiver = Choosy(chance("receiver"))
        servers.start_postgres()  # The bank's own, which stays: its book is not ours.
        given = {
            **self.pair.addresses, **BEHIND_IT, "SYNCHRONOUS_STANDBYS": "true",
            "BANK_DATABASE_URL": servers.database_address("bank"),
            "OWNER_BANK_DATABASE_URL": servers.owners_address("bank"),
        }  # fmt: skip
        settings = {**migrated(servers, home, given), **BEHIND_IT}
        self.house = House(settings, home, self.receiver)
        (home / "nginx").mkdir()
        self.nginx = Nginx(home / "nginx", *(web.address for web in self.house.webs))
        merchant = json.loads(manage(self.house.settings, "create_merchant", *OWNER, "--json"))
        self.shop = Shop(self.nginx, merchant["secret_key"])
        self.endpoints = {
            urlsplit(url).path: self.shop.insist(
                "/webhook_endpoints", {"url": url, "enabled_events": ["*"]}, ""
            )
            for url in (f"{self.receiver.url}/{number}" for number in range(ENDPOINTS))
        }
        self.faults, self.recovered = Faults(), list[dict[str, float]]()

    def fetch(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.pair.address()) as raw:
            return raw.execute(query, values).fetchall()

    def restart(self, kind: str, at: int, number: int) -> None:
        """End a process and start it again; return when the database has heard of the new one."""
        if number == signal.SIGKILL:
            self.faults.times.append(time.time())
        self.house.end(kind, at, number)
        [[before]] = self.fetch("SELECT clock_timestamp()")
        self.house.start(kind, at)
        query = "SELECT 1 FROM core_process WHERE kind = %s AND started_at > %s"
        until(lambda: bool(self.fetch(query, kind[:-1], before)), PATIENCE_SECONDS)

    def fail_over(self) -> None:
        """Kill the primary under load, promote the standby, and see that all goes on."""
        pids = self._pids()
        self.faults.times.append(time.time())
        writable_at = self.pair.fail_over()
        self.faults.times.append(time.time())
        now = time.time()
        took: dict[str, float] = {}

        def note(part: str) -> None:
            took[part] = round(time.monotonic() - writable_at, 1)

        for at in range(2):
            paid = self._pay_directly(at)
            note(f"web {at}")
        until(lambda: self._has_heard_of(paid["id"]), PATIENCE_SECONDS)
        note("a delivery")
        until(lambda: self._has_worked_since(now), PATIENCE_SECONDS)
        note("a round of work")
        self.recovered.append(took)
        assert self._pids() == pids, "a process has ended"

    def _pids(self) -> list[int | None]:
        return [one.pid_if_it_runs() for one in self.house.all()]

    def _pay_directly(self, at: int) -> Any:
        """Pay at one web process, as the proxy asks it."""
        key = f"direct-{at}-{len(self.recovered)}"
        url = f"{self.house.webs[at].url}/v1/payment_intents"  # type: ignore[attr-defined]
        headers = {
            "Authorization": f"Bearer {self.shop.secret_key}", "Idempotency-Key": key,
            "Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7",
        }  # fmt: skip

        def is_paid() -> bool:
            answer = requests.post(url, json=payment(), headers=headers, timeout=60)
            if answer.status_code == 200:
                self.shop.payments[key] = answer.json()
            return answer.status_code == 200

        until(is_paid, PATIENCE_SECONDS)
        return self.shop.payments[key]

    def _has_heard_of(self, payment_id: str) -> bool:
        seen = [one.body for one, _is_accepted in list(self.receiver.seen)]
        return any(payment_id.encode() in body for body in seen)

    def _has_worked_since(self, moment: float) -> bool:
        return any(float(at) > moment + 1 for at in self.house.redis.hgetall(ROUNDS).values())

    def is_open(self) -> bool:
        """Return whether `status` has nothing to say of the installation."""
        command = [sys.executable, "manage.py", "status"]
        environ = {**os.environ, **self.house.settings}
        # It ends with 1: no daily audit has run.
        said = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True).stdout
        return "ok     installation: open" in said

    def settle(self) -> Counter[str]:
        """Let days pass until nothing is unknown or owed; return how payments ended."""
        for _ in range(DAYS):
            if self._is_all_known() and self._is_nothing_owed():
                break
            manage(self.house.settings, "clock", "advance", "1d")
            moment = time.time()
            until(lambda: self._has_resolved_since(moment), PATIENCE_SECONDS)  # noqa: B023
        until(self._is_nothing_owed, PATIENCE_SECONDS)
        rows = self.fetch("SELECT status, count(*) FROM intents_paymentintent GROUP BY 1")
        return Counter(dict(rows))

    def _is_all_known(self) -> bool:
        payments = self.fetch("SELECT DISTINCT status FROM intents_paymentintent")
        refunds = self.fetch("SELECT DISTINCT status FROM refunds_refund")
        return {one for (one,) in payments} <= PAID_OR_NOT and refunds == [("succeeded",)]

    def _has_resolved_since(self, moment: float) -> bool:
        last = self.house.redis.hget(ROUNDS, "payments.intents.tasks.resolve_unknown")
        return float(last or 0) > moment + 1

    def _is_nothing_owed(self) -> bool:
        return self.fetch("SELECT count(*) FROM webhooks_lane") == [(0,)]

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of each object's events."""
        rows = self.fetch("SELECT aggregate_id, sequence FROM events_event ORDER BY 1, 2")
        found: dict[str, list[int]] = defaultdict(list)
        for name, number in rows:
            found[name].append(number)
        return found

    def deliveries(self) -> Findings:
        """Compare all that came at the receivers with the events."""
        journal = Journal(self.faults.explain)
        query = "SELECT id, aggregate_id, sequence FROM events_event"
        events = {name: (of, number) for name, of, number in self.fetch(query)}
        for request, is_accepted in self.receiver.seen:
            of, number = events[request.headers["pf-event-id"]]
            endpoint = self.endpoints[request.head[0].split()[1]]
            lane, delivery = (endpoint["id"], of), request.headers["pf-delivery-id"]
            journal.got.append(Got(lane, number, delivery, is_accepted, request.at))
        owed = {
            (endpoint["id"], name): len(numbers)
            for endpoint in self.endpoints.values()
            for name, numbers in self.numbers().items()
            if name.startswith(("pi_", "re_"))
        }
        return journal.examine(owed)

    def end(self) -> None:
        self.shop.stopped.set()
        self.nginx.stop()
        self.house.stop()
        self.pair.stop()
        self.receiver.close()


@pytest.fixture
def stage(own_servers: Servers, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(own_servers, tmp_path)
    yield stage
    stage.end()


def test_nothing_is_lost_or_doubled_and_all_goes_on_by_itself(stage: Stage) -> None:
    shop = stage.shop
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(shop.keep_paying, client) for client in range(CLIENTS)]
        try:
            shop.await_paid()
            stage.fail_over()
            shop.await_paid()
            stage.pair.join()
            for kind, (at, number) in product(KINDS, ENDS):
                stage.restart(kind, at, number)
                shop.await_paid(2)
            stage.fail_over()
            shop.await_paid()
            stage.pair.join()
        finally:
            shop.stopped.set()
    for client in clients:
        client.result()
    print(f"answers {dict(shop.answers)}; seconds after each promotion: {stage.recovered}")  # noqa: T201
    ends = stage.settle()
    findings, numbers = stage.deliveries(), stage.numbers()
    said = manage(stage.house.settings, "audit")

    tried(len(shop.payments), "payments, with two failovers and 8 restarts")
    print(f"{len(shop.refunds)} refunds, ends {dict(ends)}; deliveries: {findings}")  # noqa: T201
    print(said)  # noqa: T201
    assert len({one["id"] for one in shop.payments.values()}) == sum(ends.values())
    assert stage.fetch("SELECT count(*) FROM refunds_refund") == [(len(shop.refunds),)]
    assert set(ends) <= PAID_OR_NOT
    assert f"charged attempts are in the ledger: {ends['succeeded']} looked at, ok" in said
    assert [one for one in numbers.values() if one != [*range(1, len(one) + 1)]] == []
    assert findings.is_clean, findings
    assert max(max(took.values()) for took in stage.recovered) <= RECOVERED_SECONDS
    until(stage.is_open, PATIENCE_SECONDS)  # beat has seen that commits wait for the new standby.
