"""kill -9 of a web worker at every boundary of a payment, in real processes (I3, I7, I8)."""

import os
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import requests
from django.core.management import call_command
from django.test import override_settings

from events.models import Event
from payments.models import Attempt, PaymentIntent
from testbank.models import Authorization
from tests.books import captured_by_bank
from tests.client import ApiClient
from tests.factories import payment
from tests.web_process import Running, WebProcess

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(120),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# The names in tests.kill_points, which only a web process may load: it asks the database.
BOUNDARIES = (
    "after_the_first_transaction",
    "while_the_bank_works",
    "after_the_bank_answered",
    "before_the_answer",
)
LEASE_SECONDS = 2
PATIENCE_SECONDS = 20
SWEEPER = ["celery", "-q", "-A", "config", "worker", "-B", "-c", "1", "-Q", "default"]


class Installation:
    """A web process that dies once, the bank, and a sweeper when asked for."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.running: list[Running] = []
        self.settings = {"REQUEST_LEASE_SECONDS": str(LEASE_SECONDS)}
        self.once = directory / "once"
        bank = self._web("bank", "tests.kill_points:slow_bank", WEB_THREADS="16")
        self.settings["TESTBANK_URL"] = f"http://127.0.0.1:{bank.port}"

    def start(self, boundary: str) -> None:
        self.once.touch()
        deadly = {"KILL_AT": boundary, "KILL_ONCE": str(self.once), "WEB_WORKERS": "2"}
        self.web = self._web("web", "tests.kill_points", **deadly)

    def start_sweeper(self) -> None:
        schedule = ["-s", str(self.directory / "schedule"), "--pidfile="]
        log = self.directory / "sweeper.log"
        self.running.append(Running(log, [*SWEEPER, *schedule], **self.settings))

    def pay(self, client: ApiClient) -> requests.Response:
        url = f"http://127.0.0.1:{self.web.port}/v1/payment_intents"
        headers = {"Authorization": f"Bearer {client.key}", "Idempotency-Key": "order 7"}
        return requests.post(url, json=payment(), headers=headers, timeout=PATIENCE_SECONDS)

    def pay_and_die(self, client: ApiClient) -> None:
        with pytest.raises(requests.ConnectionError):
            self.pay(client)
        assert not self.once.exists(), "nobody died"

    def stop(self) -> None:
        for process in self.running:
            process.stop()

    def _web(self, name: str, application: str, **settings: str) -> WebProcess:
        log = self.directory / f"{name}.log"
        process = WebProcess(log, application, **{**self.settings, **settings})
        self.running.append(process)
        return process


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    ours = Installation(tmp_path)
    try:
        # The audit, in this process, asks the same bank.
        with override_settings(TESTBANK_URL=ours.settings["TESTBANK_URL"]):
            yield ours
    finally:
        ours.stop()


def until(condition: Any, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait for something to become true; return how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "waited in vain"
        time.sleep(0.1)
    return time.monotonic() - began


def status() -> str:
    return PaymentIntent.objects.get().status


def assert_audit_is_clean() -> None:
    said = StringIO()
    call_command("audit", stdout=said)  # Exits with 1 otherwise.
    assert "UNKNOWN" not in said.getvalue()


def assert_charged_once(client: ApiClient) -> None:
    assert Authorization.objects.count() == Attempt.objects.count() == 1
    assert captured_by_bank(client) == client.pending() == 12500
    assert Event.objects.filter(type="payment_intent.succeeded").count() == 1
    assert_audit_is_clean()


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_after_a_kill_the_retry_charges_once(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.pay_and_die(acme)

    answers: list[requests.Response] = []
    until(lambda: answers.append(installation.pay(acme)) or answers[-1].status_code != 409)

    assert answers[-1].json()["status"] == "succeeded"
    assert installation.pay(acme).content == answers[-1].content
    assert_charged_once(acme)


@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_after_a_kill_the_sweeper_alone_settles_it(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.start_sweeper()
    installation.pay_and_die(acme)

    seconds = until(lambda: status() == "succeeded")

    print(f"settled {seconds:.1f} s after the kill")  # noqa: T201
    assert seconds < LEASE_SECONDS + 5
    assert_charged_once(acme)
    assert installation.pay(acme).json()["status"] == "succeeded"
    assert_charged_once(acme)


def test_what_never_reached_the_bank_is_never_charged_without_a_retry(
    installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_first_transaction")
    installation.start_sweeper()
    installation.pay_and_die(acme)
    until(lambda: status() == "processing")

    for _ in range(3):
        asked = Attempt.objects.get().inquiry_count
        call_command("clock", "advance", "1d", stdout=StringIO())
        seconds = until(lambda asked=asked: Attempt.objects.get().inquiry_count > asked)
        assert seconds < 5

    until(lambda: status() == "requires_payment_method")
    assert Authorization.objects.count() == captured_by_bank(acme) == acme.pending() == 0
    assert_audit_is_clean()


def test_the_check_sees_a_service_that_forgets_its_attempt(
    installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_bank_answered")
    installation.pay_and_die(acme)
    Attempt.objects.all().delete()

    with pytest.raises((AssertionError, SystemExit)):
        assert_charged_once(acme)


def test_a_worker_that_nobody_kills_answers(installation: Installation, acme: ApiClient) -> None:
    installation.start("before_the_answer")
    os.unlink(installation.once)

    assert installation.pay(acme).json()["status"] == "succeeded"
    assert_charged_once(acme)
