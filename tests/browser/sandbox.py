"""The service and the simulated bank as real processes, each on an origin of its own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from merchants import sites
from tests.stage.factories import GOOD_CARD, open_merchant, payment, three_d_secure
from tests.stage.own_ports import own_ports
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

# The bank's silence outlasts the service's patience, which a busy machine must not use up.
ACQUIRER_TIMEOUT_SECONDS = "3"
SILENCE_SECONDS = "3.5"


@contextmanager
def open_bank(log: Path) -> Iterator[WebProcess]:
    """Serve the test bank beside the test databases while the block runs."""
    port = int(own_ports("BANK")["BANK"])
    bank = _at(port, log, "testbank.wsgi:application", **_reached_at(f"http://127.0.0.1:{port}"))
    yield bank
    bank.stop()


@contextmanager
def open_service(log: Path, bank: WebProcess) -> Iterator[WebProcess]:
    """Serve the service, which sends payers to the bank, while the block runs."""
    port = int(own_ports("WEB")["WEB"])
    base_url = f"http://127.0.0.1:{port}"
    # Mails are in the log, where tests look for their links.
    settings = {"BASE_URL": base_url, "EMAIL_URL": "consolemail://", **_reached_at(bank.url)}
    service = _at(port, log, "tests.stage.unseen", **settings)
    yield service
    service.stop()


def _at(port: int, log: Path, application: str, **settings: str) -> WebProcess:
    # Addresses are settings, so the port has to be known before the process starts.
    return WebProcess(log, application, WEB_BIND=f"127.0.0.1:{port}", WEB_THREADS="16", **settings)


def _reached_at(bank_url: str) -> dict[str, str]:
    return {
        "TESTBANK_URL": bank_url,
        "TESTBANK_PUBLIC_URL": bank_url,
        "ACQUIRER_TIMEOUT_SECONDS": ACQUIRER_TIMEOUT_SECONDS,
        "TESTBANK_SILENCE_SECONDS": SILENCE_SECONDS,
    }


class Payment:
    """A payment as the shop's server knows it: by the API, over HTTP."""

    def __init__(self, api: "Merchant", shown: dict[str, Any]) -> None:
        self._api = api
        self.id = shown["id"]
        self.link = shown["next_action"]["redirect_to_url"]["url"]
        self.way_back = f"{api.return_url}&payment_intent={self.id}"

    def read(self) -> dict[str, Any]:
        return self._api.get(f"/v1/payment_intents/{self.id}")

    def becomes(self, status: str) -> dict[str, Any]:
        """Wait until the payment has the status; return it.

        A browser that dropped its request for another may be at the shop before the first
        one is answered.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (shown := self.read())["status"] != status:
            assert time.monotonic() < deadline, shown
            time.sleep(0.05)
        return shown

    def told(self) -> list[str]:
        """Return the types of its events, oldest first."""
        events = self._api.get("/v1/events?limit=100")["data"]
        ours = [event for event in reversed(events) if event["aggregate_id"] == self.id]
        return [event["type"].removeprefix("payment_intent.") for event in ours]


class Merchant:
    """A shop's server; payers come back to it at `return_url`."""

    def __init__(self, service_url: str, page: str, name: str = "Acme Store") -> None:
        opened = open_merchant(name, website="https://acme.example")
        self.row = opened.merchant
        sites.register_callback(self.row, page)
        self.return_url = f"{page}?order=7"
        self._url = service_url
        self._headers = {"Authorization": f"Bearer {opened.secret_key}"}

    def charge(self, number: str = GOOD_CARD, **changes: Any) -> Payment:
        """Ask for a payment that its payer has to confirm at the bank."""
        sent = {"return_url": self.return_url, **three_d_secure("required"), **changes}
        url = f"{self._url}/v1/payment_intents"
        answer = requests.post(
            url, json=payment(number, **sent), headers=self._headers, timeout=PATIENCE_SECONDS
        )
        assert answer.status_code == 200, answer.text
        return Payment(self, answer.json())

    def pay(self, number: str = GOOD_CARD, *, email: str = "", **changes: Any) -> dict[str, Any]:
        """Ask for a payment without 3-D Secure, by a card; return it.

        :param email: of the payer.
        """
        url = f"{self._url}/v1/payment_intents"
        sent = payment(number, **changes)
        if email:
            sent["payment_method_data"]["billing_details"]["email"] = email
        answer = requests.post(url, json=sent, headers=self._headers, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = requests.post(
            self._url + path, json=body, headers=self._headers, timeout=PATIENCE_SECONDS
        )
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    def pending(self) -> int:
        """Return what the balance shows as pending, in minor units."""
        return sum(row["amount"] for row in self.get("/v1/balance")["pending"])

    def get(self, path: str) -> dict[str, Any]:
        answer = requests.get(self._url + path, headers=self._headers, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200, answer.text
        return answer.json()
