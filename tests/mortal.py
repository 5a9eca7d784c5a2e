"""An installation in real processes, whose web worker dies once: as by `kill -9`, at a boundary."""

import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import requests
from django.core.management import call_command

from payments.models import Attempt
from tests.client import ApiClient
from tests.factories import payment
from tests.web_process import Running, WebProcess

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

# What every test of a kill is: minutes long together, and with rows that the processes see.
PROOF_OF_KILLS = [
    pytest.mark.proof,
    pytest.mark.timeout(120),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

Call = Callable[[], requests.Response]


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

    def stop(self) -> None:
        for process in self.running:
            process.begin_to_stop()
        for process in self.running:
            process.stop()

    def pay(self, client: ApiClient) -> requests.Response:
        return self._post(client, "", payment())

    def ask(self, client: ApiClient, payment_id: str, action: str) -> requests.Response:
        """Ask for a capture or a cancellation, always with the same idempotency key."""
        return self._post(client, f"/{payment_id}/{action}", {})

    def bring(self, fields: dict[str, str]) -> requests.Response:
        """Bring the bank's answer, as the payer's browser does."""
        url = f"{self.web.url}/3ds/return"
        return requests.post(url, fields, allow_redirects=False, timeout=PATIENCE_SECONDS)

    def dies_during(self, call: Call) -> None:
        with pytest.raises(requests.ConnectionError):
            call()
        assert not self.once.exists(), "nobody died"

    def _post(self, client: ApiClient, path: str, body: dict[str, Any]) -> requests.Response:
        url = f"{self.web.url}/v1/payment_intents{path}"
        headers = {"Authorization": f"Bearer {client.key}", "Idempotency-Key": "order 7"}
        return requests.post(url, json=body, headers=headers, timeout=PATIENCE_SECONDS)

    def _web(self, name: str, application: str, **settings: str) -> WebProcess:
        log = self.directory / f"{name}.log"
        process = WebProcess(log, application, **{**self.settings, **settings})
        self.running.append(process)
        return process


def retried(call: Call) -> requests.Response:
    """Call again until the dead request keeps nobody waiting any more."""
    answers: list[requests.Response] = []
    until(lambda: answers.append(call()) or answers[-1].status_code != 409)
    return answers[-1]


def until(condition: Any, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait for something to become true; return how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "waited in vain"
        time.sleep(0.1)
    return time.monotonic() - began


def assert_audit_is_clean() -> None:
    said = StringIO()
    call_command("audit", stdout=said)  # Exits with 1 otherwise.
    assert "UNKNOWN" not in said.getvalue()


def three_days_pass() -> None:
    """Move the clock from inquiry to inquiry, until "no record" is believed."""
    for count in (1, 2, 3):
        call_command("clock", "advance", "1d", stdout=StringIO())
        # Counted with the answer; by then the next inquiry's time is written, too.
        seconds = until(lambda count=count: Attempt.objects.get().no_record_count >= count)
        assert seconds < 5
