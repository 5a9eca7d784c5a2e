"""The keys of all purposes are changed while requests run and processes are killed."""

import secrets
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import requests
from allauth.mfa.models import Authenticator

from audit import keys as audit_keys
from core import clock, heartbeat, keyring
from core.models import Process
from merchants import audit_chains, second_factors
from merchants.models import ApiKey
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.factories import unconfirmed
from tests.stage.key_change import KeyChange, PurposeChange, keyring_command, rotate
from tests.stage.second_factors import SEED, add_app
from tests.stage.visitors import an_operator
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess
from vault import cvc
from vault.models import SealedCard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PAYMENTS = "/v1/payment_intents"
PAUSE_SECONDS = 0.2
# The shop opens a page and sends requests of before; their keys stay, as those of the audit log do.
SERVES = ("link", "idempotency", "audit_log")


class Shop(Thread):
    """A client that pays, sends again, reads, and opens a payment page, a few times a second.

    A request whose process was killed is sent again with its key, as a client does.
    """

    def __init__(self, key: str, page: str) -> None:
        super().__init__(daemon=True)
        self.url = ""
        self.page = page
        self.paid: dict[str, str] = {}
        self.wrong: list[str] = []
        self.sent = self.broken = 0
        self.is_over = Event()
        self._headers = {"Authorization": f"Bearer {key}"}

    def run(self) -> None:
        while not self.is_over.wait(PAUSE_SECONDS):
            self._pay(secrets.token_hex(8))
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
                    method, self.url + path, headers=headers, timeout=PATIENCE_SECONDS, **body
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
    """Web processes, one after the other: the next one takes over, and the one before is killed."""

    def __init__(self, directory: Path, shop: Shop, keyring_file: Path) -> None:
        self._directory, self._shop, self._file = directory, shop, keyring_file
        self._webs: list[WebProcess] = []

    def restart(self) -> None:
        log = self._directory / f"web{len(self._webs)}.log"
        web = WebProcess(log, KEYRING_FILE=str(self._file))
        self._shop.url = web.url
        for before in self._webs[-1:]:
            before.kill_workers()
            before.kill()
        self._webs.append(web)
        self._await_rows(web)

    def _await_rows(self, web: WebProcess) -> None:
        """Wait until the process lives with today's ring; the killed ones would for a minute."""
        ring = keyring.load(self._file)
        todays = Process.objects.filter(
            key_ids=sorted(ring.held), purpose_key_ids=sorted(ring.primaries.values())
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not todays.exists():
            assert time.monotonic() < deadline, web.log
            time.sleep(0.02)
        Process.objects.exclude(id__in=todays.values("id")).delete()

    def stop(self) -> None:
        for web in self._webs[-1:]:
            web.stop()


@pytest.fixture
def shop(acme: ApiClient) -> Iterator[Shop]:
    url = opened(acme)["url"]
    shop = Shop(acme.key, url[url.index("/pay/") :])
    yield shop
    shop.is_over.set()
    shop.join()


@pytest.fixture
def service(key_change: KeyChange, tmp_path: Path, shop: Shop) -> Iterator[Service]:
    service = Service(tmp_path, shop, key_change.path)
    service.restart()
    yield service
    service.stop()
    heartbeat.end()


def test_no_request_fails_while_the_keys_of_all_purposes_change(
    shop: Shop, service: Service, key_change: KeyChange
) -> None:
    add_app(an_operator())
    changes = [PurposeChange(key_change.path, purpose) for purpose in keyring.PURPOSES]
    shop.start()

    for change in changes:
        change.add()
    service.restart()
    SealedCard.objects.update(sealed=None, destroyed_at=clock.now())  # As after a day.
    for change in changes:
        change.promote()
    service.restart()
    for change in changes:
        change.retire(ago=timedelta(0) if change.purpose in SERVES else timedelta(days=40))
    rotate()
    await_many(shop)
    for change in changes:
        if change.purpose not in SERVES:
            change.purge()
    await_many(shop)

    shop.is_over.set()
    shop.join()
    print(f"{shop.sent} requests, {shop.broken} broken by kills, {len(shop.paid)} paid")  # noqa: T201
    assert (shop.wrong, shop.sent > 20) == ([], True)
    assert audit_keys.check().differences == []
    assert set(ApiKey.objects.values_list("hashed_with", flat=True)) == {changes[0].new}
    problems: list[object] = []
    audit_chains.verify(tell=problems.append)
    assert problems == []
    app = Authenticator.objects.get()
    assert second_factors.opened(app.data["secret"]) == SEED
    needed = [line for line in keyring_command("show").splitlines() if " is needed: " in line]
    assert sorted(line.split()[0] for line in needed) == sorted(SERVES)
    newest = SealedCard.objects.latest("created_at")
    assert cvc.look(newest.token) is not None


def await_many(shop: Shop) -> None:
    """Wait until the shop has sent more under the new keys."""
    deadline, enough = time.monotonic() + PATIENCE_SECONDS, shop.sent + 8
    while shop.sent < enough:
        assert time.monotonic() < deadline, shop.wrong
        time.sleep(0.05)
