"""The keys of data and of all purposes are changed while requests run and processes are killed.

At its full length 15 requests a second come to two web processes and two workers.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest
import requests
from allauth.mfa.models import Authenticator

from audit import keys as audit_keys
from config.celery import app
from core import clock, heartbeat, keyring
from core.models import Process
from merchants import audit_chains, second_factors
from merchants.models import ApiKey
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.factories import unconfirmed
from tests.stage.key_change import KeyChange, PurposeChange, keyring_command, rotate
from tests.stage.kills import until
from tests.stage.lengths import IS_FULL, length, tried
from tests.stage.second_factors import SEED, add_app
from tests.stage.visitors import an_operator
from tests.stage.web_process import PATIENCE_SECONDS, Running, WebProcess
from vault import cvc
from vault.models import SealedCard

pytestmark = [
    pytest.mark.proof(part="keys"),
    pytest.mark.timeout(1800),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PAYMENTS = "/v1/payment_intents"
CLIENTS = length(short=1, full=5)
WEBS = length(short=1, full=2)
WORKERS = length(short=0, full=2)
# Each turn of a client has four requests: at the full length all send 15 a second together.
REQUESTS_OF_A_TURN = 4
TURN_SECONDS = length(short=0.2, full=CLIENTS * REQUESTS_OF_A_TURN / 15)
# Between two steps of the operators.
ENOUGH = length(short=8, full=300)
WORK, TASKS = "payments.charging.tasks.destroy_cards", 20
# The shop opens a page and sends requests of before; their keys stay, as those of the audit log do.
SERVES = ("link", "idempotency", "audit_log")


class Shop(Thread):
    """A client that pays, sends again, reads, and opens a payment page, a few times a second.

    A request whose process was killed is sent again with its key, as a client does.
    """

    def __init__(self, key: str, page: str, urls: list[str]) -> None:
        super().__init__(daemon=True)
        self.page = page
        self.paid: dict[str, str] = {}
        self.wrong: list[str] = []
        self.sent = self.broken = 0
        self.is_over = Event()
        self._urls = urls
        self._headers = {"Authorization": f"Bearer {key}"}

    def run(self) -> None:
        turn = time.monotonic()
        while not self.is_over.wait(max(0, turn - time.monotonic())):
            turn = max(turn, time.monotonic() - TURN_SECONDS) + TURN_SECONDS
            self._pay(str(uuid4()))
            self._pay(next(iter(self.paid)))
            self._send("GET", PAYMENTS, lambda answer: answer.status_code == 200)
            self._send("GET", self.page, lambda answer: answer.status_code == 203)

    def _pay(self, key: str) -> None:
        def is_right(answer: requests.Response) -> bool:
            same = self.paid.setdefault(key, answer.json().get("id", ""))
            return answer.status_code == 200 and answer.json()["id"] == same

        self._send("POST", PAYMENTS, is_right, json=unconfirmed(), key=key)

    def _send(
        self,
        method: str,
        path: str,
        is_right: Callable[[requests.Response], bool],
        key: str | None = None,
        **body: Any,
    ) -> None:
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and not self.is_over.is_set():
            try:
                answer = requests.request(
                    method,
                    secrets.choice(self._urls) + path,
                    headers=headers,
                    timeout=PATIENCE_SECONDS,
                    **body,
                )
            except requests.ConnectionError:
                self.broken += 1
                time.sleep(0.05)
                continue
            if answer.status_code == 409:  # The process that had it was killed.
                time.sleep(0.05)
                continue
            self.sent += 1
            if not is_right(answer):
                self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            return
        if not self.is_over.is_set():
            self.wrong.append(f"{method} {path}: no answer")


class Service:
    """Web processes and workers; the next ones take over, and those before are killed.

    :ivar urls: of the web processes that take requests.
    """

    def __init__(self, directory: Path, keyring_file: Path) -> None:
        self._directory, self._file = directory, keyring_file
        self._webs: list[WebProcess] = []
        self._workers: list[Running] = []
        self._started = count()
        self.urls: list[str] = []
        self.kills = 0

    def restart(self) -> None:
        """Start each process again: each takes the place of one that is killed."""
        for before in [*self._webs, *[None] * (WEBS - len(self._webs))]:
            web = WebProcess(self._log("web"), KEYRING_FILE=str(self._file))
            self._webs.append(web)
            self.urls.append(web.url)
            if before:
                self._webs.remove(before)
                self.urls.remove(before.url)
                before.kill_workers()
                before.kill()
                self.kills += 1
        for _ in range(WORKERS):
            self._replace_a_worker()
        self._await_rows()

    def crash(self) -> None:
        """Kill the worker of a web process, in whose place another starts, and a worker."""
        self._webs[0].kill_workers()
        self.kills += 1
        if WORKERS:
            self._replace_a_worker()

    def _replace_a_worker(self) -> None:
        command = ["celery", "-q", "-A", "config", "worker", "-P", "solo", "-Q", "default"]
        options = ["--without-gossip", "--without-mingle"]
        log, ring = self._log("worker"), str(self._file)
        self._workers.append(Running(log, [*command, *options], KEYRING_FILE=ring))
        if len(self._workers) > WORKERS:
            self._workers.pop(0).kill()
            self.kills += 1
        for _ in range(TASKS):
            app.send_task(WORK, queue="default")

    def _await_rows(self) -> None:
        """Wait until each process lives with today's ring; the killed ones would for a minute."""
        ring = keyring.load(self._file)
        todays = Process.objects.filter(
            key_ids=sorted(ring.held), purpose_key_ids=sorted(ring.primaries.values()),
            primary_key_id=ring.primary,
        )  # fmt: skip
        until(lambda: todays.count() >= WEBS + WORKERS, PATIENCE_SECONDS)
        Process.objects.exclude(id__in=todays.values("id")).delete()

    def _log(self, kind: str) -> Path:
        return self._directory / f"{kind}{next(self._started)}.log"

    def stop(self) -> None:
        for process in [*self._webs, *self._workers]:
            process.stop()


@pytest.fixture
def service(key_change: KeyChange, tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path, key_change.path)
    service.restart()
    yield service
    service.stop()
    heartbeat.end()


@pytest.fixture
def shops(acme: ApiClient, service: Service) -> Iterator[list[Shop]]:
    url = opened(acme)["url"]
    page = url[url.index("/pay/") :]
    shops = [Shop(acme.key, page, service.urls) for _ in range(CLIENTS)]
    yield shops
    end(shops)


def test_no_request_fails_while_the_keys_of_all_purposes_change(
    shops: list[Shop], service: Service, key_change: KeyChange
) -> None:
    add_app(an_operator())
    changes = [PurposeChange(key_change.path, purpose) for purpose in keyring.PURPOSES]
    begun = time.monotonic()
    for shop in shops:
        shop.start()

    for change in changes:
        change.add()
    await_many(shops, service)
    service.restart()
    a_day_passes()
    keyring_command("promote", key_change.new)
    for change in changes:
        change.promote()
    await_many(shops, service)
    service.restart()
    a_day_passes()
    await_many(shops, service)
    rotate()
    keyring_command("remove", key_change.old)
    for change in changes:
        change.retire(ago=timedelta(0) if change.purpose in SERVES else timedelta(days=40))
    rotate()
    await_many(shops, service)
    keyring_command("purge", key_change.old)
    for change in changes:
        if change.purpose not in SERVES:
            change.purge()
    service.restart()
    await_many(shops, service)

    end(shops)
    sent, seconds = sum(shop.sent for shop in shops), time.monotonic() - begun
    broken, paid = (
        sum(each) for each in zip(*((s.broken, len(s.paid)) for s in shops), strict=True)
    )
    tried(sent, "requests while the keys of all purposes change")
    print(  # noqa: T201
        f"{sent} requests in {seconds:.0f} s ({sent / seconds:.1f} a second), {service.kills} "
        f"processes killed, {broken} requests broken by kills and sent again, {paid} paid"
    )
    assert [wrong for shop in shops for wrong in shop.wrong] == []
    assert sent >= 5 * ENOUGH
    assert audit_keys.check().differences == []
    assert set(ApiKey.objects.values_list("hashed_with", flat=True)) == {changes[0].new}
    problems: list[object] = []
    audit_chains.verify(tell=problems.append)
    assert problems == []
    app = Authenticator.objects.get()
    assert second_factors.opened(app.data["secret"]) == SEED
    needed = [line for line in keyring_command("show").splitlines() if " is needed: " in line]
    assert sorted(line.split()[0] for line in needed) == sorted(SERVES)
    kept = SealedCard.objects.filter(sealed__isnull=False)
    assert set(kept.values_list("key_id", flat=True)) == {key_change.new}
    newest = SealedCard.objects.latest("created_at")
    assert cvc.look(newest.token) is not None


def a_day_passes() -> None:
    """Destroy the cards of before: none that was made with an earlier key is charged any more."""
    SealedCard.objects.update(sealed=None, destroyed_at=clock.now())


def await_many(shops: list[Shop], service: Service) -> None:
    """Wait until the shops have sent more, in whose midst processes are killed."""
    before = sum(shop.sent for shop in shops)
    for part in (0.5, 1):
        enough = before + part * ENOUGH
        until(lambda enough=enough: sum(shop.sent for shop in shops) >= enough, PATIENCE_SECONDS)
        if part < 1 and IS_FULL:
            service.crash()


def end(shops: list[Shop]) -> None:
    for shop in shops:
        shop.is_over.set()
    for shop in shops:
        if shop.is_alive():
            shop.join()
