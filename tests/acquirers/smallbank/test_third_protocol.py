"""A newcomer's adapter in a folder of its own: set up by the command, paid, asked and audited."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from acquirers.models import Terminal
from tests.acquirers.smallbank.bank import STORE_KEY, SmallBank, served
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ADAPTER = "tests.acquirers.smallbank.gateway.SmallBankGateway"


def set_up(monkeypatch: pytest.MonkeyPatch, url: str, key: str) -> None:
    values = {"kind": "smallbank", "api_url": url, "credentials": {"store_key": key}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(values)))
    call_command("acquirer", "set", "small", stdout=io.StringIO())


@pytest.fixture
def small(bank: BankTransport, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallBank]:
    small = SmallBank()
    kinds = {**settings.ACQUIRERS, "smallbank": ADAPTER}
    with served(small) as url, override_settings(ACQUIRERS=kinds):
        set_up(monkeypatch, url, STORE_KEY)
        call_command("acquirer", "check", "small", stdout=io.StringIO())
        call_command("acquirer", "route", "small", "--priority", "1")
        yield small


def test_a_script_sets_it_up_and_a_wrong_key_is_found(
    small: SmallBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = Terminal.objects.get(name="small").shown_values["api_url"]
    set_up(monkeypatch, url, "another key")

    with pytest.raises(CommandError, match="did not answer"):
        call_command("acquirer", "check", "small")
    assert len(small.refused) == 1


def test_money_is_taken_given_back_and_agrees(acme: ApiClient, small: SmallBank) -> None:
    paid, held = acme.pay(), acme.pay(capture_method="manual")
    kept = acme.pay(capture_method="manual")
    assert acme.pay(DECLINED_CARD)["last_payment_error"]["code"] == "card_declined"
    acme.post(f"/v1/payment_intents/{held['id']}/capture")
    acme.post(f"/v1/payment_intents/{kept['id']}/cancel")
    part = acme.refund(paid["id"], 500)

    assert (paid["status"], part["status"]) == ("succeeded", "succeeded")
    assert acme.payment(kept["id"])["status"] == "canceled"
    assert small.moved() == 2 * 12500 - 500
    assert audit()[0] == 0


@pytest.mark.parametrize("deed", ["charge", "refund"])
def test_silence_is_asked_about_and_nothing_is_sent_twice(
    deed: str, acme: ApiClient, small: SmallBank, settings: Any
) -> None:
    paid = None if deed == "charge" else acme.pay()
    small.mute = 1
    asked = acme.pay() if paid is None else acme.refund(paid["id"], 500)
    assert asked["status"] == ("processing" if paid is None else "pending")

    sweep_after(120)

    found = acme.payment(asked["id"]) if paid is None else acme.refunded(asked["id"])
    assert found["status"] == "succeeded"
    assert small.moved() == (12500 if paid is None else 12000)
    assert audit()[0] == 0
