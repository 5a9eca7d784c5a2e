from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acquirers.models import Terminal
from acquirers.notices import applying, storing
from core import context
from core.keyring import ring
from tests.stage import stripe_calls
from tests.stage.emptying import empty
from tests.stage.factories import payment
from tests.stage.notifier import Notifier, another_dispute
from tests.stage.sdk_service import SdkServers, SdkService, servers, with_account
from tests.stage.stripe_calls import client


@pytest.fixture(scope="package")
def sdk_servers(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SdkServers]:
    """The processes of the service and the bank, which start once for all modules of SDKs."""
    ring()
    with django_db_blocker.unblock(), servers(tmp_path_factory.mktemp("sdk")) as running_servers:
        yield running_servers


@pytest.fixture(scope="module")
def sdk_service(sdk_servers: SdkServers, django_db_blocker: Any) -> Iterator[SdkService]:
    """The service for SDKs; the rows of Acme, one merchant for each module, are committed."""
    with django_db_blocker.unblock():
        yield with_account(sdk_servers)
        for alias in ("default", "bank"):
            empty(alias)


@pytest.fixture
def stripe_calls_us(
    sdk_service: SdkService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stripe's package for Python calls the service with Acme's key."""
    stripe_calls.tell(sdk_service, monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def disputed(sdk_service: SdkService) -> list[str]:
    """Payments of which the bank has told disputes, oldest first; committed, for the service."""
    intents, notifier = client(sdk_service).v1.payment_intents, Notifier()
    paid = [intents.create(params=payment()).id for _one in range(4)]
    for payment_id in paid:
        notifier.tell("dispute_opened", payment_id, dispute=another_dispute())
    with context.work():
        storing.store(Terminal.objects.get(name="sandbox"), notifier.told)
        applying.apply_new(job="tests.clients")
    return paid
