"""Terminals set up: what is refused, what is kept, and that a secret is seen nowhere."""

import json
import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import acquirers
from acquirers import terminals
from acquirers.gateway import IssuerFacts
from acquirers.models import Route, Terminal
from acquirers.sandbox.gateway import SandboxGateway
from acquirers.set_up import SetUpRefused, checked
from merchants.models import AuditEntry
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.oldbank.terminals import FIRST
from tests.stage.oldbank.way import ADAPTER, KIND

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ADDRESSES = {"api_url": "https://bank.example/api", "gate_url": "https://bank.example/gate"}
VALUES = {**FIRST.credentials, **ADDRESSES}
SECRETS = (FIRST.password, FIRST.store_key)


@pytest.fixture(autouse=True)
def _old_bank(settings: Any) -> None:
    settings.ACQUIRERS = {**settings.ACQUIRERS, KIND: ADAPTER}


def run(*arguments: str, given: Any = None, monkeypatch: pytest.MonkeyPatch) -> str:
    text = given if isinstance(given, str) else json.dumps(given)
    monkeypatch.setattr("sys.stdin", StringIO(text))
    output = StringIO()
    call_command("acquirer", *arguments, stdout=output)
    return output.getvalue()


def refused(*arguments: str, given: Any = None, monkeypatch: pytest.MonkeyPatch) -> str:
    with pytest.raises(CommandError) as refusal:
        run(*arguments, given=given, monkeypatch=monkeypatch)
    return str(refusal.value)


# --- Values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [one.name for one in OldBankGateway.fields])
@pytest.mark.parametrize("fault", ["missing", "malformed"])
def test_each_field_that_is_missing_or_malformed_is_named(name: str, fault: str) -> None:
    values = {key: value for key, value in VALUES.items() if key != name}
    if fault == "malformed":
        values[name] = f"{VALUES[name]}\n"

    with pytest.raises(SetUpRefused, match=rf"^{name}: {fault}") as refusal:
        terminals.add("new", kind=KIND, values=values)

    assert not any(secret in str(refusal.value) for secret in SECRETS)
    assert not Terminal.objects.filter(name="new").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "unheard"}, "kind"),
        ({"values": {**VALUES, "pasword": "x"}}, "pasword"),
        ({"values": {**VALUES, "terminal": 70000001}}, "terminal"),
        ({"values": {**VALUES, "api_url": "https://user@bank.example/"}}, "api_url"),
        ({"currencies": ["xxx"]}, "currencies"),
        ({"currencies": ["try", "try"]}, "currencies"),
        ({"brands": "visa mastercard"}, "brands"),
    ],
)
def test_what_a_kind_does_not_know_is_refused(change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"kind": KIND, "values": VALUES, **change}

    with pytest.raises(SetUpRefused, match=rf"^{named}:"):
        terminals.add("new", **given)


@pytest.mark.parametrize("name", ["", "New", "-new", "n" * 41, "neü", "new\n"])
def test_a_name_is_small_letters_and_digits(name: str) -> None:
    with pytest.raises(SetUpRefused, match=r"^name:"):
        terminals.add(name, kind="sandbox")


def test_a_name_is_given_once() -> None:
    with pytest.raises(SetUpRefused, match="terminal of that name"):
        terminals.add("sandbox", kind="sandbox")


def test_a_live_installation_sends_to_no_address_without_tls(settings: Any) -> None:
    settings.LIVEMODE = True
    plain = {**VALUES, "gate_url": "http://bank.example/gate"}

    with pytest.raises(SetUpRefused, match="^gate_url: a live installation"):
        checked(OldBankGateway.fields, plain)
    assert checked(OldBankGateway.fields, VALUES).secrets == {
        "password": FIRST.password,
        "store_key": FIRST.store_key,
    }


def test_what_is_refused_changes_nothing() -> None:
    own = terminals.add("own", kind=KIND, values=VALUES)

    with pytest.raises(SetUpRefused):
        terminals.replace(own, {**VALUES, "user": ""})

    own.refresh_from_db()
    assert terminals.credentials_of(own) == VALUES


# --- The command ------------------------------------------------------------------------------


def test_a_terminal_is_set_up_by_a_script(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: Any
) -> None:
    secrets = {"password": FIRST.password, "store_key": FIRST.store_key}
    public = {name: value for name, value in VALUES.items() if name not in secrets}
    given = {"kind": KIND, "currencies": ["try"], **public, "credentials": secrets}

    with caplog.at_level(logging.DEBUG):
        said = [
            run("set", "oldest", given=given, monkeypatch=monkeypatch),
            run("set", "oldest", given=given, monkeypatch=monkeypatch),
            run("route", "oldest", "--currency", "try", "--installments", "2-12",
                "--domestic", "yes", monkeypatch=monkeypatch),
            run("drain", "oldest", monkeypatch=monkeypatch),
            run("list", monkeypatch=monkeypatch),
            run("list", "--json", monkeypatch=monkeypatch),
        ]  # fmt: skip

    own = Terminal.objects.get(name="oldest")
    assert (own.kind, own.status, own.currencies) == (KIND, "draining", ["try"])
    assert terminals.credentials_of(own) == VALUES
    assert "    try domestic 2-12 at 100\n" in said[4]
    [shown] = [one for one in json.loads(said[5]) if one["name"] == "oldest"]
    assert shown["values"] == public
    audited = [str(one.before) + str(one.after) for one in AuditEntry.objects.all()]
    places = [*said, *audited, caplog.text, *capsys.readouterr(), str(own.shown_values)]
    assert not [one for one in places if any(secret in one for secret in SECRETS)]
    print(f"{len(places)} places read")  # noqa: T201
    actions = AuditEntry.objects.order_by("sequence").values_list("action", flat=True)
    assert [*actions] == ["terminal.added", "terminal.replaced", "route.added", "terminal.drained"]


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (("set", "new"), "{", "no JSON"),
        (("set", "new"), [], "no JSON object"),
        (("set", "new"), {"kind": KIND, "credentials": []}, "no JSON object"),
        (("set", "new"), {}, "no such kind"),
        (("set", "sandbox"), {"kind": KIND}, "keeps its kind"),
        (("set", "new", "--merchant", "mer_none"), {"kind": "sandbox"}, "no merchant"),
        (("check", "none"), None, "no terminal"),
        (("drain", "none"), None, "no terminal"),
        (("route", "none"), None, "no terminal"),
        (("route", "sandbox", "--priority", "7", "--remove"), None, "no such route"),
    ],
)
def test_a_refused_step_says_why(
    arguments: tuple[str, ...], given: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said in refused(*arguments, given=given, monkeypatch=monkeypatch)
    assert Terminal.objects.get().kind == "sandbox"


def test_a_route_is_removed_by_its_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    run("route", "sandbox", "--brand", "visa", monkeypatch=monkeypatch)
    run("route", "sandbox", "--brand", "visa", "--remove", monkeypatch=monkeypatch)

    assert [str(one) for one in Route.objects.all()] == ["everything at 1000"]


def test_a_check_asks_the_bank(bank: BankTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "The bank answers" in run("check", "sandbox", monkeypatch=monkeypatch)
    bank.fault = "cut_before"
    assert "did not answer" in refused("check", "sandbox", monkeypatch=monkeypatch)
    bank.fault = None

    def fail(*_: object) -> Any:
        raise KeyError(FIRST.password)

    monkeypatch.setattr(SandboxGateway, "inquire", fail)
    said = refused("check", "sandbox", monkeypatch=monkeypatch)
    assert "did not answer" in said
    assert FIRST.password not in said


# --- What an adapter says of cards ------------------------------------------------------------


@pytest.mark.parametrize("is_raised", [True, False], ids=["raises", "refuses"])
def test_a_card_that_no_adapter_takes_is_refused(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, *, is_raised: bool
) -> None:
    def accepts(*_: object) -> bool:
        if is_raised:
            raise KeyError("a missing value")
        return False

    monkeypatch.setattr(SandboxGateway, "accepts", accepts)

    assert acme.pay().refusal[:2] == (400, "card_not_supported")
    assert bank.seen == []


def test_issuers_that_any_adapter_knows_count_for_all_terminals(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquirers._merged_bins.cache_clear()
    facts = {"424242": IssuerFacts("visa", "credit", "TR", "Its Own Bank")}
    monkeypatch.setattr(OldBankGateway, "built_in_bins", facts)
    monkeypatch.setattr(SandboxGateway, "built_in_bins", {})
    try:
        assert acme.pay()["status"] == "succeeded"
        assert Attempt.objects.get().card["issuer"] == "Its Own Bank"
    finally:
        acquirers._merged_bins.cache_clear()
