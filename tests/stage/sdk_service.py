"""The service, its deliveries and the bank over real sockets, for the SDKs of others."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
# No payment here is one without an answer: a bank on a busy machine is slow, and not silent.
PATIENT_SECONDS = "40"


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
    revoked_key: str
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


class SdkServers(NamedTuple):
    """The processes that the modules of SDKs have in common."""

    url: str
    strict_url: str
    hooks: Receiver
    story_port: int

    @property
    def hosts(self) -> tuple[str, str]:
        """Return where webhooks may be sent."""
        return self.hooks.host, f"127.0.0.1:{self.story_port}"


@contextmanager
def servers(directory: Path) -> Iterator[SdkServers]:
    """Run the bank, the web process and a strict twin of it, and what delivers webhooks."""
    with receiver() as hooks:
        addresses = SdkServers("", "", hooks, _free_port())
        processes = [WebProcess(directory / "bank.log", "testbank.wsgi")]
        settings = {
            "TESTBANK_URL": processes[0].url,
            "WEBHOOK_DEV_HOSTS": ",".join(addresses.hosts),
            "ACQUIRER_TIMEOUT_SECONDS": PATIENT_SECONDS,
        }
        try:
            for name, rate in (("web", "0"), ("strict", "1")):
                log = directory / f"{name}.log"
                processes.append(WebProcess(log, **settings, RATE_LIMIT_PER_SECOND=rate))
            with worker(directory / "worker.log", *addresses.hosts):
                yield addresses._replace(url=processes[1].url, strict_url=processes[2].url)
        finally:
            for process in processes:
                process.begin_to_stop()
            for process in processes:
                process.stop()


def with_account(at: SdkServers) -> SdkService:
    """Open Acme's account."""
    opened = open_merchant("Acme Store", website="https://acme.example")
    sandbox_plans.give(opened.merchant)
    read_only = dict.fromkeys(resources.scopes(), "read")
    _key, read_only_key = keys.create(opened.merchant, name="Reader", scopes=read_only)
    revoked, revoked_key = keys.create(opened.merchant, name="Revoked")
    keys.revoke(revoked)
    return SdkService(
        at.url, at.strict_url, opened.merchant.id, opened.secret_key, read_only_key, revoked_key,
        at.hooks, at.story_port,
    )  # fmt: skip


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
