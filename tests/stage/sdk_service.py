"""The service, its deliveries and the bank over real sockets, for the SDKs of others."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.rest import resources
from devstack.state import ROOT
from merchants import keys
from payments.installments import sandbox_plans
from tests.stage.factories import open_merchant
from tests.stage.receivers import Receiver, receiver
from tests.stage.web_process import WebProcess
from tests.stage.webhook_workers import worker

SIGNATURES = ROOT / "docs/webhook-signatures.json"
VECTORS = json.loads(SIGNATURES.read_text())


@dataclass(frozen=True)
class SdkService:
    """Where the service is, with Acme's keys; at `strict_url` it takes one request a second.

    :param hooks: takes every webhook that is sent to its address.
    :param story_port: where a program of another language may take webhooks itself.
    """

    url: str
    strict_url: str
    merchant_id: str
    key: str
    read_only_key: str
    hooks: Receiver
    story_port: int

    @property
    def environment(self) -> dict[str, str]:
        """Return what a program of another language is told."""
        return {
            "SERVICE_URL": self.url,
            "STRICT_URL": self.strict_url,
            "SECRET_KEY": self.key,
            "READ_ONLY_KEY": self.read_only_key,
            "RECEIVER_PORT": str(self.story_port),
        }


@contextmanager
def running(directory: Path) -> Iterator[SdkService]:
    """Run the web process, a strict twin of it, the bank, and what delivers webhooks."""
    opened = open_merchant("Acme Store", website="https://acme.example")
    sandbox_plans.give(opened.merchant)
    read_only = dict.fromkeys(resources.scopes(), "read")
    _key, read_only_key = keys.create(opened.merchant, name="Reader", scopes=read_only)
    with receiver() as hooks:
        story_port = _free_port()
        hosts = (hooks.host, f"127.0.0.1:{story_port}")
        with _web(directory, *hosts) as urls, worker(directory / "worker.log", *hosts):
            yield SdkService(
                *urls, opened.merchant.id, opened.secret_key, read_only_key, hooks, story_port
            )


@contextmanager
def _web(directory: Path, *hosts: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses of the web process and of its strict twin."""
    processes = [WebProcess(directory / "bank.log", "testbank.wsgi")]
    settings = {"TESTBANK_URL": processes[0].url, "WEBHOOK_DEV_HOSTS": ",".join(hosts)}
    try:
        for name, rate in (("web", "0"), ("strict", "1")):
            log = directory / f"{name}.log"
            processes.append(WebProcess(log, **settings, RATE_LIMIT_PER_SECOND=rate))
        yield processes[1].url, processes[2].url
    finally:
        for process in processes:
            process.begin_to_stop()
        for process in processes:
            process.stop()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
