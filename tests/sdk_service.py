"""The service and the bank over real sockets, for the SDKs that others have written."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devstack.state import ROOT
from merchants import keys
from tests.factories import open_merchant
from tests.web_process import WebProcess

SIGNATURES = ROOT / "docs/webhook-signatures.json"
VECTORS = json.loads(SIGNATURES.read_text())


@dataclass(frozen=True)
class SdkService:
    """Where the service is, with Acme's keys; at `strict_url` it takes one request a second."""

    url: str
    strict_url: str
    merchant_id: str
    key: str
    read_only_key: str

    @property
    def environment(self) -> dict[str, str]:
        """Return what a program of another language is told."""
        return {
            "SERVICE_URL": self.url,
            "STRICT_URL": self.strict_url,
            "SECRET_KEY": self.key,
            "READ_ONLY_KEY": self.read_only_key,
        }


@contextmanager
def running(directory: Path) -> Iterator[SdkService]:
    """Run the web process, a strict twin of it, and the bank."""
    opened = open_merchant("Acme Store", website="https://acme.example")
    read_only = dict.fromkeys(keys.RESOURCES, "read")
    _key, read_only_key = keys.create(opened.merchant, name="Reader", scopes=read_only)
    processes = [WebProcess(directory / "bank.log", "testbank.wsgi")]
    settings = {"TESTBANK_URL": processes[0].url, "RATE_LIMIT_PER_SECOND": "0"}
    try:
        processes.append(WebProcess(directory / "web.log", **settings))
        strict = {**settings, "RATE_LIMIT_PER_SECOND": "1"}
        processes.append(WebProcess(directory / "strict.log", **strict))
        urls = (processes[1].url, processes[2].url)
        yield SdkService(*urls, opened.merchant.id, opened.secret_key, read_only_key)
    finally:
        for process in processes:
            process.begin_to_stop()
        for process in processes:
            process.stop()
