"""A silent bank, and the web process beside it: reads go on, and a stop loses nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from django.db import connection
from django.test import override_settings

from payments.intents.models import Attempt, PaymentIntent
from testbank.models import Authorization
from tests.stage.audited import assert_audit_is_clean
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, payment
from tests.stage.kills import until
from tests.stage.sweeper import leases_run_out, sweep_after
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

THREADS, SLOTS, CONNECTIONS = 8, 6, 2
SILENT_CHARGED = "4000001100000017"
PATIENCE_SECONDS = 60
# Longer than a test looks at it, however busy the machine is.
LONG_SILENCE = {"TESTBANK_SILENCE_SECONDS": "100", "ACQUIRER_TIMEOUT_SECONDS": "40"}

Answering = "Future[requests.Response]"


class Installation:
    """The bank, and a web process that is started when the test says with what."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.running: list[WebProcess] = []

    def start(self, *arguments: str, bank: str = "testbank.wsgi", **patience: str) -> WebProcess:
        """Start both; `arguments` are gunicorn's, for the web process.

        :param patience: settings of both about how long they wait.
        """
        own = {"config": "testbank/gunicorn.py", "BANK_BIND": "127.0.0.1:0", **patience}
        self.running.append(WebProcess(self.directory / "bank.log", bank, **own))
        settings = {
            "TESTBANK_URL": self.bank_url,
            "WEB_THREADS": str(THREADS),
            "DATABASE_POOL": str(CONNECTIONS),
            "PGAPPNAME": "web",
            "GUNICORN_CMD_ARGS": " ".join(arguments),
            **patience,
        }
        self.running.append(WebProcess(self.directory / "web.log", **settings))
        return self.running[-1]

    @property
    def bank(self) -> WebProcess:
        return self.running[0]

    @property
    def bank_url(self) -> str:
        return self.bank.url


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path)
    yield installation
    for process in installation.running:
        process.stop()


@pytest.fixture
def shoppers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4 * SLOTS) as pool:
        yield pool


def pay(web: WebProcess, client: ApiClient, number: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {client.key}"}
    url = f"{web.url}/v1/payment_intents"
    return requests.post(url, json=payment(number), headers=headers, timeout=PATIENCE_SECONDS)


def insist(web: WebProcess, client: ApiClient, number: str) -> requests.Response:
    """Pay, and again while it is refused: on a busy machine a connection may not come in time."""
    while (answer := pay(web, client, number)).status_code == 503:
        pass
    return answer


def read(web: WebProcess, client: ApiClient) -> requests.Response:
    headers = {"Authorization": f"Bearer {client.key}"}
    return requests.get(f"{web.url}/v1/payment_intents", headers=headers, timeout=PATIENCE_SECONDS)


def begin(
    shoppers: ThreadPoolExecutor, web: WebProcess, client: ApiClient, number: str
) -> list[Answering]:
    """Begin a payment for each slot."""
    return [shoppers.submit(insist, web, client, number) for _ in range(SLOTS)]


def sessions_of_web() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'web'")
        return cursor.fetchone()[0]


def test_beside_a_silent_bank_reads_are_answered_and_further_payments_refused(
    acme: ApiClient, ours: Installation, shoppers: ThreadPoolExecutor
) -> None:
    web = ours.start(**LONG_SILENCE)
    at_the_bank = begin(shoppers, web, acme, SILENT_CHARGED)
    until(lambda: Authorization.objects.count() == SLOTS)
    further = [shoppers.submit(pay, web, acme, GOOD_CARD) for _ in range(2 * SLOTS)]
    refused = [one.result() for one in further]

    shown = read(web, acme)

    assert not any(one.done() for one in at_the_bank), "the bank was not that silent"
    assert (shown.status_code, len(shown.json()["data"])) == (200, SLOTS)
    assert web.is_alive()
    assert 0 < sessions_of_web() <= CONNECTIONS
    assert {(one.status_code, one.headers["Retry-After"]) for one in refused} == {(503, "1")}
    ours.bank.kill_workers()
    assert {one.result().json()["status"] for one in at_the_bank} == {"processing"}
    assert PaymentIntent.objects.count() == Attempt.objects.count() == SLOTS


# --- SIGTERM ------------------------------------------------------------------------------------


def stop_with_every_slot_taken(
    web: WebProcess, client: ApiClient, shoppers: ThreadPoolExecutor, number: str
) -> list[Answering]:
    paying = begin(shoppers, web, client, number)
    until(lambda: Attempt.objects.count() == SLOTS)
    web.stop()
    return paying


def assert_everything_is_known_in_the_end(ours: Installation) -> None:
    leases_run_out()
    with override_settings(TESTBANK_URL=ours.bank_url):
        for _ in range(3):
            sweep_after(86_400)
        assert_audit_is_clean()
    assert set(PaymentIntent.objects.values_list("status", flat=True)) == {"succeeded"}
    assert Authorization.objects.filter(captured_amount=12500).count() == SLOTS


def test_a_stop_waits_for_what_is_at_the_bank(
    acme: ApiClient, ours: Installation, shoppers: ThreadPoolExecutor
) -> None:
    web = ours.start(bank="tests.stage.kill_points:slow_bank")

    paying = stop_with_every_slot_taken(web, acme, shoppers, GOOD_CARD)

    assert {one.result().json()["status"] for one in paying} == {"succeeded"}
    assert_everything_is_known_in_the_end(ours)


def test_what_a_silent_bank_does_not_say_before_a_stop_is_left_to_the_sweeper(
    acme: ApiClient, ours: Installation, shoppers: ThreadPoolExecutor
) -> None:
    web = ours.start()

    paying = stop_with_every_slot_taken(web, acme, shoppers, SILENT_CHARGED)

    assert {one.result().json()["status"] for one in paying} == {"processing"}
    assert_everything_is_known_in_the_end(ours)


def test_a_stop_that_does_not_wait_for_the_bank_leaves_everything_to_the_sweeper(
    acme: ApiClient, ours: Installation, shoppers: ThreadPoolExecutor
) -> None:
    web = ours.start("--graceful-timeout 1")

    paying = stop_with_every_slot_taken(web, acme, shoppers, SILENT_CHARGED)

    assert all(isinstance(one.exception(), requests.ConnectionError) for one in paying)
    assert set(Attempt.objects.values_list("status", flat=True)) == {"processing"}
    assert_everything_is_known_in_the_end(ours)
