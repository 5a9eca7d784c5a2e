"""The normal set-up: two of each process behind a balancer, and a merchant who uses it."""

import json
import shutil
import signal
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import redis
import requests

from config.scheduler import LEADER
from devstack.state import ROOT
from tests.stage.factories import payment
from tests.stage.kills import until
from tests.stage.own_servers import manage
from tests.stage.receivers import Receiver
from tests.stage.web_process import Running, WebProcess

OWNER = ("--name", "Acme", "--email", "owner@acme.example", "--website", "https://acme.example")
QUIET = ("--without-gossip", "--without-mingle")
PATIENCE_SECONDS = 120
KINDS = ("webs", "workers", "senders", "beats")


class TwoOfEach:
    """Two web processes, workers, senders and beats, and the bank, on servers of their own.

    :param code: the directory of the release that they run.
    """

    def __init__(
        self, settings: dict[str, str], home: Path, receiver: Receiver, code: Path = ROOT
    ) -> None:
        self.home = home
        self._numbers = count(1)
        self.bank = WebProcess(home / "bank.log", "testbank.wsgi", code=code, **settings)
        self.settings = {
            **settings, "TESTBANK_URL": self.bank.url, "WEBHOOK_DEV_HOSTS": receiver.host,
            "WEBHOOK_LEASE_SECONDS": "4", "WEBHOOK_TIMEOUT_SECONDS": "2",
        }  # fmt: skip
        self.redis = redis.Redis.from_url(settings["REDIS_URL"])
        self.webs: list[Running] = [self._started("webs", at, code) for at in range(2)]
        self.beats: list[Running] = [self._started("beats", 0, code)]
        # The first one leads, and the second host has a copy of its mark.
        until(lambda: self.redis.exists(LEADER), PATIENCE_SECONDS)
        shutil.copy(self._mark(0), self._mark(1))
        self.beats.append(self._started("beats", 1, code))
        self.workers: list[Running] = [self._started("workers", at, code) for at in range(2)]
        self.senders: list[Running] = [self._started("senders", at, code) for at in range(2)]

    def kill_the_first_of_each(self) -> None:
        for kind in KINDS:
            getattr(self, kind).pop(0).kill()

    def quit_the_first(self, kind: str) -> tuple[int, str]:
        """End one process by SIGQUIT; return its exit status and all that it wrote."""
        process = getattr(self, kind).pop(0)
        process.signal(signal.SIGQUIT)
        return process.exit_status(), process.log

    def start_another(self, kind: str, code: Path) -> None:
        """Start one in the place of the first, which has ended."""
        getattr(self, kind).insert(0, self._started(kind, 0, code))

    def replace(self, kind: str, at: int, code: Path) -> None:
        """Stop one process by SIGTERM, and start one of another release in its place."""
        processes = getattr(self, kind)
        processes[at].stop()
        processes[at] = self._started(kind, at, code)

    def stop(self) -> None:
        for kind in reversed(KINDS):
            for process in getattr(self, kind):
                process.stop()
        self.bank.stop()

    def logs(self) -> str:
        return "".join(log.read_text() for log in sorted(self.home.glob("*.log")))

    def _started(self, kind: str, at: int, code: Path) -> Running:
        log = self.home / f"{kind}{at}-{next(self._numbers)}.log"
        if kind == "webs":
            web = WebProcess(log, code=code, **self.settings)
            until(lambda: requests.get(f"{web.url}/readyz", timeout=10).ok, PATIENCE_SECONDS)
            return web
        given = {**self.settings, "MARK_FILE": str(self._mark(at))}
        process = Running(log, self._command(kind, at), code=code, **given)
        if kind == "senders":
            process.wait_for("(webhooks_started)")
        return process

    def _command(self, kind: str, at: int) -> list[str]:
        celery = ["celery", "-q", "-A", "config"]
        return {
            "beats": [*celery, "beat", "-s", str(self.home / f"schedule{at}"), "--pidfile="],
            "workers": [*celery, "worker", "-Q", "default", "-c", "1", *QUIET],
            "senders": ["manage", "deliver_webhooks"],
        }[kind]

    def _mark(self, at: int) -> Path:
        return self.home / f"mark{at}"


class Shop:
    """A merchant whose requests go to the web processes in turn, as a balancer sends them.

    A process that takes no connection is passed over, with the same `Idempotency-Key`.
    """

    def __init__(self, house: TwoOfEach) -> None:
        self.house, self._turns, self._lock = house, count(), Lock()
        merchant = json.loads(manage(house.settings, "create_merchant", *OWNER, "--json"))
        self.headers = {"Authorization": f"Bearer {merchant['secret_key']}"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """:raises AssertionError: the answer is a refusal, or none came from any process."""
        headers = self.headers
        if method == "POST":
            headers = {**headers, "Idempotency-Key": str(uuid4())}
        answer = self._answer(method, path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pay(self, **more: Any) -> str:
        return str(self.ask("POST", "/payment_intents", {**payment(), **more})["id"])

    def _answer(self, method: str, path: str, **sent: Any) -> requests.Response:
        for _try in range(20):
            url = f"{self._next_web().url}/v1{path}"
            try:
                return requests.request(method, url, timeout=PATIENCE_SECONDS, **sent)
            except requests.ConnectionError:
                continue
        raise AssertionError("no web process takes a connection")

    def _next_web(self) -> Any:
        with self._lock:
            webs = self.house.webs
            return webs[next(self._turns) % len(webs)]


def numbers_of(shop: Shop, object_id: str) -> list[int]:
    """Return the numbers of an object's events, as the API lists them."""
    events = shop.ask("GET", f"/events?aggregate_id={object_id}&sort=created&limit=100")["data"]
    return sorted(event["sequence"] for event in events)


def delivered(receiver: Receiver) -> dict[str, list[int]]:
    """Return the numbers of each object's events, in the order in which they came first."""
    found: dict[str, dict[int, None]] = {}
    for request in receiver.requests:
        event = json.loads(request.body)
        found.setdefault(event["data"]["object"]["id"], {})[event["sequence"]] = None
    return {name: [*numbers] for name, numbers in found.items()}
