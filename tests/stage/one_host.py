"""The smallest installation: one web process, the bank, and a merchant who pays."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests

from tests.stage.factories import payment
from tests.stage.kills import until
from tests.stage.own_servers import manage
from tests.stage.web_process import WebProcess

OWNER = ("--name", "Acme", "--email", "owner@acme.example", "--website", "https://acme.example")
PATIENCE_SECONDS = 120


class OneHost:
    """:param bank: a process that is stopped with this one."""

    def __init__(self, settings: dict[str, str], home: Path, bank: WebProcess) -> None:
        self.settings = settings
        self.web = WebProcess(home / "web.log", **settings)
        self._bank = bank
        merchant = json.loads(manage(settings, "create_merchant", *OWNER, "--json"))
        self._headers = {"Authorization": f"Bearer {merchant['secret_key']}"}

    def post(self, path: str, body: Any = None, *, key: str = "") -> requests.Response:
        headers = {**self._headers, "Idempotency-Key": key or str(uuid4())}
        url = f"{self.web.url}/v1{path}"
        return requests.post(url, json=body or {}, headers=headers, timeout=PATIENCE_SECONDS)

    def pay(self, **more: Any) -> requests.Response:
        return self.post("/payment_intents", {**payment(), **more})

    def insist(self, path: str, body: Any = None, *, key: str = "") -> Any:
        """Repeat a request with its key until it is done; return the answer's body."""
        key = key or str(uuid4())
        answers: list[requests.Response] = []

        def is_done() -> bool:
            answers.append(self.post(path, body, key=key))
            return answers[-1].status_code == 200

        until(is_done, PATIENCE_SECONDS)
        return answers[-1].json()

    def stop(self) -> None:
        self.web.stop()
        self._bank.stop()
