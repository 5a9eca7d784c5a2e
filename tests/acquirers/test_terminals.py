"""Terminals: which one a new attempt gets, what an old one keeps, and who sees its credentials."""

import logging
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

import acquirers
from acquirers import routing, terminals
from acquirers.models import Terminal
from acquirers.routing import Payment
from acquirers.sandbox.access import access_of
from core.errors import UpstreamUnavailable
from core.keyring import ring
from payments.intents.models import Attempt
from testbank.models import Authorization
from tests.stage.bank_transport import IN_PROCESS_URL, BankTransport, sandbox
from tests.stage.client import ApiClient
from tests.stage.factories import AttemptFactory, MerchantFactory
from tests.stage.key_change import KeyChange, rotate
from tests.stage.routed import routed
from tests.stage.sweeper import sweep_after
from tests.stage.visitors import NAME, PASSWORD, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SALE = Payment("try", {"brand": "visa", "domestic": False, "program": None})
MANUAL = {"capture_method": "manual"}


def default() -> Terminal:
    return Terminal.objects.get(name="sandbox")


def set_status(terminal: Terminal, status: str) -> None:
    Terminal.objects.filter(id=terminal.id).update(status=status)


# --- For a new attempt ------------------------------------------------------------------------


def test_a_sandbox_begins_with_a_terminal_for_everybody(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    for client in (acme, globex):
        assert client.pay()["status"] == "succeeded"

    assert {attempt.terminal for attempt in Attempt.objects.all()} == {default()}


def test_a_merchants_own_terminal_is_nobody_elses(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    own = routed("acme", merchant=acme.merchant)

    acme.pay()
    globex.pay()

    [acmes] = Attempt.objects.for_merchant(acme.merchant)
    [globexs] = Attempt.objects.for_merchant(globex.merchant)
    assert (acmes.terminal, globexs.terminal) == (own, default())


def test_both_ways_to_a_terminal_find_the_same_one(acme: ApiClient, bank: BankTransport) -> None:
    credentials = {"api_url": IN_PROCESS_URL}
    older = routed("older", merchant=acme.merchant)
    newer = routed("newer", merchant=acme.merchant, values=credentials)
    for retired, expected in [(None, newer), (newer, older), (older, default())]:
        if retired:
            set_status(retired, "draining")

        paid = acme.pay()

        of_caller = Attempt.objects.get(intent_id=paid["id"]).terminal
        assert of_caller == expected == routing.routes_of(acme.merchant).terminal_for(SALE)


@pytest.mark.parametrize("status", ["draining", "disabled"])
def test_without_an_enabled_terminal_nothing_is_stored(
    status: str, acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post("/v1/payment_intents", {"amount": 100, "currency": "try"})
    set_status(default(), status)

    refused = acme.pay()

    assert refused.refusal == (503, "upstream_unavailable", None)
    # No matter of seconds: an operator sets one up.
    assert refused.headers["Retry-After"] == "3600"
    assert created.status == 200
    assert (Attempt.objects.count(), bank.seen) == (0, [])


def test_a_terminal_of_a_kind_without_an_adapter_is_none(settings: Any) -> None:
    settings.ACQUIRERS = {"elsewhere": settings.ACQUIRERS["sandbox"]}
    merchant = MerchantFactory()
    own = routed("own", kind="elsewhere", merchant=merchant)
    settings.ACQUIRERS = {}

    with pytest.raises(UpstreamUnavailable):
        routing.routes_of(merchant).require_open("try")
    with pytest.raises(UpstreamUnavailable):
        acquirers.at(own)


# --- For an old one ---------------------------------------------------------------------------


def test_a_draining_terminal_finishes_what_it_began(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(**MANUAL)
    set_status(default(), "draining")

    captured = acme.post(f"/v1/payment_intents/{paid['id']}/capture")

    assert captured["status"] == "succeeded"


def test_a_disabled_terminals_bank_is_asked_nothing(acme: ApiClient, bank: BankTransport) -> None:
    held = acme.pay(**MANUAL)
    bank.fault = "cut_after"
    unknown = acme.pay()
    bank.fault = None
    set_status(default(), "disabled")
    asked = len(bank.seen)

    refused = acme.post(f"/v1/payment_intents/{held['id']}/capture")
    sweep_after(30)

    assert refused.refusal == (503, "upstream_unavailable", None)
    assert acme.payment(held["id"])["status"] == "requires_capture"
    assert acme.payment(unknown["id"])["status"] == "processing"
    assert len(bank.seen) == asked
    set_status(default(), "enabled")
    sweep_after(60)
    assert acme.payment(unknown["id"])["status"] == "succeeded"


def test_an_attempt_goes_to_its_own_terminal_to_the_end(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(**MANUAL)
    elsewhere = {"api_url": "http://127.0.0.1:1"}
    routed("new", merchant=acme.merchant, values=elsewhere)

    canceled = acme.post(f"/v1/payment_intents/{paid['id']}/cancel")

    assert canceled["status"] == "canceled"
    assert Authorization.objects.get().state == "voided"


def test_the_database_keeps_an_attempt_at_its_terminal() -> None:
    attempt, other = AttemptFactory(), terminals.add("other", kind="sandbox")

    with pytest.raises(IntegrityError, match="terminal"), transaction.atomic():
        Attempt.objects.filter(id=attempt.id).update(terminal=other)


@pytest.mark.parametrize("change", [{"kind": "other"}, {"merchant_id": "mer_other"}])
def test_the_database_keeps_a_terminal_at_its_bank(change: dict[str, str]) -> None:
    with pytest.raises(IntegrityError, match="cannot change"), transaction.atomic():
        Terminal.objects.update(**change)


# --- Its credentials --------------------------------------------------------------------------


def test_changed_credentials_count_from_the_next_call_on(
    acme: ApiClient, bank: BankTransport
) -> None:
    wrong, right = {"api_url": "http://127.0.0.1:1"}, {"api_url": IN_PROCESS_URL}
    own = routed("own", merchant=acme.merchant, values=wrong)
    assert acme.pay()["last_payment_error"]["code"] == "processing_error"

    terminals.replace(own, right)

    assert acme.pay()["status"] == "succeeded"


def test_credentials_are_the_terminals_and_what_they_leave_out_is_the_settings(
    settings: Any,
) -> None:
    own = terminals.add("own", kind="sandbox", values={"signing_key": "its own"})
    own.refresh_from_db()

    assert access_of(own).signing_key == "its own"
    assert access_of(own).url == settings.TESTBANK_URL
    assert access_of(default()).signing_key == settings.TESTBANK_SIGNING_KEY
    assert "its own" not in f"{own!r} {access_of(own)!r}"


def test_credentials_that_do_not_open_send_nothing(
    acme: ApiClient, bank: BankTransport, caplog: pytest.LogCaptureFixture
) -> None:
    own = routed("own", merchant=acme.merchant, values={"signing_key": "its own"})
    bank.fault = "cut_after"
    unknown = acme.pay()
    other = terminals.add("other", kind="sandbox", values={"signing_key": "another"})
    Terminal.objects.filter(id=own.id).update(sealed=other.sealed)
    bank.fault, asked = None, len(bank.seen)

    with caplog.at_level(logging.ERROR):
        failed = acme.pay()
        sweep_after(30)

    assert failed["last_payment_error"]["code"] == "processing_error"
    assert acme.payment(unknown["id"])["status"] == "processing"
    assert len(bank.seen) == asked
    assert "terminal_credentials_unreadable" in caplog.text


def test_credentials_follow_a_new_key(key_change: KeyChange) -> None:
    own = terminals.add("own", kind="sandbox", values={"signing_key": "its own"})
    key_change.promote_and_restart()

    rotate()

    own.refresh_from_db()
    assert ring().key_id_of(bytes(own.sealed)) == key_change.new
    assert terminals.credentials_of(own) == {"signing_key": "its own"}


def test_operators_see_a_terminal_without_its_credentials() -> None:
    own = terminals.add("own", kind="sandbox", values={"signing_key": "its own"})
    an_operator()
    browser = Client()
    browser.login(username=NAME, password=PASSWORD)

    page = browser.get(reverse("admin:acquirers_terminal_change", args=[own.id]))

    assert page.status_code == 200
    shown = page.content.decode()
    assert "field-name" in shown
    assert "field-sealed" not in shown
    assert "its own" not in shown


def test_one_gateway_speaks_for_all_terminals_of_a_kind() -> None:
    own = terminals.add("own", kind="sandbox")

    assert acquirers.at(own) is acquirers.at(default()) is sandbox()


def test_a_live_installation_does_not_start_with_an_adapter_of_the_tests(settings: Any) -> None:
    settings.ACQUIRERS = {"oldbank": "tests.stage.oldbank.gateway.OldBankGateway"}
    settings.LIVEMODE = True
    acquirers._gateway.cache_clear()

    with pytest.raises(ImproperlyConfigured, match="belongs to the tests"):
        acquirers.require_adapters()
