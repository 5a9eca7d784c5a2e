"""PostgreSQL goes away in the middle of traffic: waits are bounded, and no success is a lie."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from devstack.servers import Servers
from tests.stage import both_banks
from tests.stage.audited import ASKED
from tests.stage.factories import payment
from tests.stage.garanti import way as garanti
from tests.stage.lengths import length
from tests.stage.nestpay import way as nestpay
from tests.stage.own_servers import manage, restart, run
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.proof(part="chaos"),
    pytest.mark.timeout(600),
]

CLIENTS = 6
# Payments that succeed before the restart, and after it.
PAYMENTS = 20
# A hang is ended after this.
PATIENCE_SECONDS = 300
# Connecting anew takes 3 s at most, and settling is tried twice; a hang would take longer, and
# count as no answer at all.
LONGEST_WAIT_SECONDS = 90
HONEST_FAILURES = {409, 500, 503}


class Shop:
    """A merchant's backend that pays without a pause, and remembers what it was told."""

    def __init__(self, url: str, secret_key: str) -> None:
        self.url, self.secret_key = url, secret_key
        self.stopped = threading.Event()
        self.told: dict[str, list[tuple[int | None, Any]]] = {}

    def pay(self, key: str) -> tuple[int | None, Any]:
        headers = {"Authorization": f"Bearer {self.secret_key}", "Idempotency-Key": key}
        try:
            answer = requests.post(
                self.url, json=payment(), headers=headers, timeout=LONGEST_WAIT_SECONDS
            )
            told = answer.status_code, answer.json()
        except requests.RequestException:
            told = None, None
        self.told.setdefault(key, []).append(told)
        return told

    def count(self, *, of: Callable[[int | None], bool]) -> int:
        """Return how many answers had such a status so far."""
        return sum(of(status) for told in list(self.told.values()) for status, _body in told)

    def await_paid(self, more: int) -> None:
        """Wait until so many more payments have succeeded."""
        before = self.count(of=is_paid)
        until(lambda: self.count(of=is_paid) >= before + more)

    def await_noticed(self) -> None:
        """Wait until somebody has been answered otherwise."""
        until(lambda: self.count(of=lambda status: not is_paid(status)) > 0)

    def keep_paying(self, client: int) -> None:
        number = 0
        while not self.stopped.is_set():
            number += 1
            self.pay(f"{client}-{number}")

    def status_of(self, payment_id: str) -> str:
        headers = {"Authorization": f"Bearer {self.secret_key}"}
        return requests.get(f"{self.url}/{payment_id}", headers=headers, timeout=10).json()[
            "status"
        ]

    def insist(self, key: str) -> Any:
        """Repeat the request until it is answered for good."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            status, body = self.pay(key)
            if is_paid(status):
                return body
            time.sleep(0.25)
        raise AssertionError(f"no answer for {key}: {self.told[key][-1]}")


def is_paid(status: int | None) -> bool:
    return status == 200


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


# Days go by, and the bank, whose database was away too, is asked what became of it all.
SWEEP = """
import django
django.setup()
from datetime import timedelta
from core import clock
from ledger.tasks import settle_due
from payments.charging.tasks import resolve_unknown
for _ in range(4):
    clock.advance(timedelta(days=1))
    resolve_unknown()
    settle_due()
"""


ADD_TERMINAL = (
    "import django, json, sys; django.setup(); from tests.stage.routed import routed;"
    " routed(f'{sys.argv[1]}-1', kind=sys.argv[1], values=json.loads(sys.argv[2]))"
)
CHARGED = (
    "import django, sys; django.setup(); from testbank.models import Authorization;"
    " print(Authorization.objects.filter(**{f'{sys.argv[1]}lines__isnull': False},"
    " captured_amount__gte=1).distinct().count())"
)
# The values of a terminal at a door of the bank, by the bank's address.
VALUES_AT = {
    both_banks.NESTPAY: lambda url: nestpay.values_at(api_url=f"{url}/fim/api"),
    both_banks.GARANTI: lambda url: garanti.values_at(api_url=f"{url}/VPServlet"),
}


@pytest.fixture
def shop(own_settings: dict[str, str], door: str, tmp_path: Path) -> Iterator[Shop]:
    bank = WebProcess(tmp_path / "bank.log", "testbank.wsgi", WEB_THREADS="16", **own_settings)
    own_settings["TESTBANK_URL"] = bank.url
    if door in VALUES_AT:
        run(own_settings, "-c", ADD_TERMINAL, door, json.dumps(VALUES_AT[door](bank.url)))
    web = WebProcess(tmp_path / "web.log", WEB_THREADS=str(CLIENTS), **own_settings)
    owner = ["--name", "Acme", "--email", "owner@acme.example", "--website", "https://acme.example"]
    merchant = json.loads(manage(own_settings, "create_merchant", *owner, "--json"))
    yield Shop(f"http://127.0.0.1:{web.port}/v1/payment_intents", merchant["secret_key"])
    web.stop()
    bank.stop()


@pytest.mark.parametrize(
    "signal_number", length(short=[signal.SIGKILL], full=[signal.SIGINT, signal.SIGKILL])
)
def test_a_restart_during_traffic_loses_nothing_and_lies_about_nothing(
    signal_number: int,
    own_servers: Servers,
    own_settings: dict[str, str],
    shop: Shop,
    door: str,
) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        for client in range(CLIENTS):
            pool.submit(shop.keep_paying, client)
        try:
            shop.await_paid(PAYMENTS)
            restart(own_servers, signal_number, while_away=shop.await_noticed)
            shop.await_paid(PAYMENTS)
        finally:
            shop.stopped.set()
    during = {key: list(answers) for key, answers in shop.told.items()}
    ended = Counter(status for answers in during.values() for status, _body in answers)

    answered = {key: shop.insist(key) for key in during}
    run(own_settings, "-c", SWEEP)
    final = {key: shop.status_of(answer["id"]) for key, answer in answered.items()}

    print(f"{len(during)} payments: {dict(ended)}")  # noqa: T201
    assert set(ended) <= {200, *HONEST_FAILURES}
    for key, [(status, body)] in during.items():
        assert status != 200 or body == answered[key], "a retry was told something else"
        assert status != 200 or body["status"] != "succeeded" or final[key] == "succeeded"
    ends = Counter(final.values())
    print(f"in the end: {dict(ends)}")  # noqa: T201
    assert set(ends) <= {"succeeded", "requires_payment_method"}
    said = manage(own_settings, "audit", "--window", "4000", "--rate", "10000")
    assert f"charged attempts are in the ledger: {ends['succeeded']} looked at, ok" in said
    if door in VALUES_AT:
        assert int(run(own_settings, "-c", CHARGED, door)) == ends["succeeded"]
    assert "UNKNOWN" not in ASKED.sub("", said)
