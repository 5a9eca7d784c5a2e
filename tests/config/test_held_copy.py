"""A held copy is read; it charges, pays out, refunds, delivers and mails nothing."""

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as service
from django.core import mail as outbox
from django.core.mail import EmailMessage
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.beat import EVERY
from config.celery import app
from core import installation, mail
from core.models import Installation
from panel import house_mails
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.draining import until
from tests.stage.factories import SILENT_CARD
from webhooks import upkeep
from webhooks.delivery import drain, lanes
from webhooks.delivery.drain import Drain

DOCUMENT = json.loads((Path(service.BASE_DIR) / "docs" / "openapi.json").read_text())
POSTS = [
    (method, re.sub(r"\{[^}]+\}", "x_1", path))
    for path, operations in DOCUMENT["paths"].items()
    for method in operations
    if method in ("post", "delete")
]
PAGES = ["/pay/x/confirm", "/pay/x/card", "/panel/", "/admin/", "/3ds/x", "/3ds/x/return"]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process know, as a heartbeat does, that its copy is held."""
    monkeypatch.setattr(installation, "_known", [True])


def tell(compared: str) -> None:
    sys.stdout.write(f"{compared}\n")


def hold() -> None:
    Installation.objects.create(
        identity="one", place="elsewhere", held_at=timezone.now(), held_reason="a test"
    )


@pytest.mark.django_db(databases=["default", "bank"])
def test_every_change_is_refused_by_the_statement_that_finds_the_caller(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay()
    asked = len(bank.seen)
    hold()

    answers = [(method, path, getattr(acme, method)(path)) for method, path in POSTS]

    assert len(answers) >= 28
    for method, path, answer in answers:
        assert answer.refusal == (503, "upstream_unavailable", None), (method, path)
        assert answer.headers["Retry-After"] == "60"
    assert answers[0][2].error["message"].startswith("This installation was restored from a copy.")
    assert len(bank.seen) == asked
    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert acme.get("/v1/payment_intents")["data"]
    tell(f"{len(answers)} changes refused, {len(bank.seen) - asked} requests at the bank")


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_pages_refuse_forms_and_the_way_to_the_bank(path: str, known: None) -> None:
    assert Client().post(path).status_code == 503
    is_read = not path.startswith("/3ds")
    assert (Client().get(path).status_code != 503) is is_read


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_pages_ask_the_database_before_the_next_heartbeat_does(path: str) -> None:
    hold()

    assert Client().post(path).status_code == 503
    is_read = not path.startswith("/3ds")
    installation._known[0] = None
    assert (Client().get(path).status_code != 503) is is_read
    installation._known[0] = None


@pytest.mark.django_db
def test_a_page_that_cannot_ask_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database that answers the next statement may be a standby that was just promoted."""

    def away() -> bool:
        raise OperationalError

    monkeypatch.setattr(installation, "reason_held", away)

    for path in PAGES:
        assert Client().post(path).status_code == 503
    assert Client().get("/panel/").status_code != 503


@pytest.mark.django_db
def test_people_may_sign_in(known: None) -> None:
    page = reverse("account_login")

    assert Client().get(page).status_code == 200
    assert Client().post(page, {"login": "a@shop.example", "password": "b"}).status_code == 200


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address that a socket of this process is connected to; Redis lies elsewhere."""
    addresses: list[Any] = []

    def connect(_socket: socket.socket, address: Any) -> None:
        addresses.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return addresses


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_no_task_of_a_held_copy_opens_a_socket(
    acme: ApiClient, called: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "LOOK_EVERY_SECONDS", 0.01)
    # Each task notes for the process that it is held.
    monkeypatch.setattr(installation, "_known", [None])
    bodies = [acme.pay(SILENT_CARD) for _ in range(2)]
    assert {answer["status"] for answer in bodies}
    outside = [address for address in called if not isinstance(address, str)]
    tasks = [task for task in EVERY if task != "webhooks.tasks.drain"]
    app.loader.import_default_modules()
    called.clear()
    hold()

    ended = [app.tasks[task].apply() for task in [*tasks, "webhooks.tasks.drain"]]

    assert len(ended) == len(EVERY)
    assert outside  # The same process does connect to the bank where nothing holds it.
    # Celery notes in Redis that a round has ended.
    assert [address for address in called if not isinstance(address, str)] == []
    tell(f"{len(ended)} tasks begun, 0 sockets; before it was held {len(outside)}")


@pytest.mark.django_db(transaction=True)
def test_a_sender_of_a_held_copy_claims_nothing(
    known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[Any] = []
    monkeypatch.setattr(lanes, "claim", lambda capacity: claims.append(capacity) or [])
    sender = Drain()

    sender.run(seconds=0.05)
    held = len(claims)
    installation._known[0] = None
    until(lambda: sender.run(seconds=0.05) or claims)
    sender.close()

    assert held == 0


@pytest.mark.django_db
def test_a_held_copy_sends_no_mail(known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def due() -> int:
        raise AssertionError("a notice was looked for")

    monkeypatch.setattr(upkeep.notices, "send_due", due)
    hold()

    mail.send_when_answered(EmailMessage("s", "t", None, ["a@shop.example"]))
    house_mails._sent([EmailMessage("s", "t", None, ["a@shop.example"])], "anything")

    assert upkeep.send_mails() == upkeep.tidy_up() == 0
    assert outbox.outbox == []
