"""A real dump, restored to before some payments while the bank went on: found, adopted, opened."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection

from audit import reopening, report, restored
from audit.management.commands import after_restore
from audit.reconciliation.models import Difference
from core import heartbeat, installation
from devstack import binaries
from events.jumps import BY
from events.models import Jump
from ledger.models import Price
from merchants.models import AuditEntry, Invitation, Session
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt
from payments.refunds import tasks
from payments.refunds.models import Refund
from testbank.models import Refund as BankRefund
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import owners_address
from tests.stage.factories import EndpointFactory, payment
from tests.stage.sweeper import Died, dies, sweep

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

REASON = "Compared with the bank by telephone."
LOST = 5


def tell(compared: str) -> None:
    sys.stdout.write(f"{compared}\n")


@pytest.fixture(autouse=True)
def _nothing_is_known_afterwards(tmp_path: Path, settings: Any) -> Iterator[None]:
    settings.MARK_FILE = tmp_path / "mark"
    yield
    installation._known[0] = False


def program(name: str, *arguments: str) -> None:
    command = [str(binaries.postgres_bin() / name), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PGUSER": "app"}
    )
    assert done.returncode == 0, done.stderr


def dump(to: Path) -> None:
    program("pg_dump", "-Fc", "-f", str(to), "-d", owners_address())


@contextmanager
def restored_from(dumped: Path) -> Iterator[None]:
    """Let the service use a database that the dump is restored to, beside the living original."""
    original = connection.settings_dict["NAME"]
    copy = f"copy_of_{original}"
    address = owners_address()
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f'DROP DATABASE IF EXISTS "{copy}"')
        owner.execute(f'CREATE DATABASE "{copy}" TEMPLATE template0')
    program("pg_restore", "--exit-on-error", "-d", address.replace(original, copy), str(dumped))
    connection.close()
    connection.settings_dict["NAME"] = copy
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = original
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute(f'DROP DATABASE "{copy}" WITH (FORCE)')


def make_mark() -> None:
    with closing(heartbeat._connected()) as raw:
        installation.keep(raw)


def compare() -> str:
    said = StringIO()
    call_command("after_restore", "compare", stdout=said)
    return said.getvalue()


def open_it() -> str:
    said = StringIO()
    call_command("after_restore", "open", "--reason", REASON, stdout=said)
    return said.getvalue()


def reference_of(answer: Any) -> str:
    return Attempt.objects.get(intent_id=answer["id"]).acquirer_reference


def test_charges_of_the_lost_time_are_named_and_what_is_known_is_adopted(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    make_mark()
    manual = {"capture_method": "manual"}
    captured, released = (acme.pay(**manual)["id"] for _ in range(2))
    refunded = acme.pay()["id"]
    EndpointFactory(merchant=acme.merchant, replay_xid=2**40)
    page = acme.post(
        "/v1/checkout/sessions",
        {"amount": 700, "currency": "try", "success_url": "https://acme.example/thanks"},
    )
    dump(tmp_path / "dump")
    lost = [acme.pay(amount=1000 + at) for at in range(LOST)]
    keyed = acme.post("/v1/payment_intents", payment(amount=77), idempotency_key="k")
    assert acme.post(f"/v1/payment_intents/{captured}/capture")["status"] == "succeeded"
    assert acme.post(f"/v1/payment_intents/{released}/cancel")["status"] == "canceled"
    refund = acme.refund(refunded, 300)
    told = max(event["sequence"] for event in acme.events_of(captured))
    charges = {reference_of(answer) for answer in [*lost, keyed]}
    taken_back = Refund.objects.get(id=refund["id"]).acquirer_reference
    asked = len(bank.seen)

    with restored_from(tmp_path / "dump"):
        assert acme.post("/v1/payment_intents", payment(), idempotency_key="k").status == 503
        assert acme.payment(lost[0]["id"]).status == 404
        said = compare()

        cases = Difference.objects.filter(closed_at=None)
        found = {(row.type, row.reference) for row in cases}
        assert found == {*(("sale", one) for one in charges), ("refund", taken_back)}
        assert {row.merchant_id for row in cases} == {acme.merchant.id}
        assert sorted(row.bank["amount"] for row in cases.filter(type="sale")) == [
            77, *range(1000, 1000 + LOST),
        ]  # fmt: skip
        assert said.count("LOST") == LOST + 2
        assert said.count("ADOPTED") == 2
        assert not any(path.endswith(("capture", "void")) for path in bank.seen[asked:])
        assert acme.payment(captured)["status"] == "succeeded"
        assert acme.payment(released)["status"] == "canceled"
        assert min(event["sequence"] for event in acme.events_of(captured)[-1:]) > told + 1000
        assert not CheckoutSession.objects.filter(id=page["id"], status="open").exists()
        assert acme.post("/v1/payment_intents", payment()).status == 503

        open_it()

        assert Difference.objects.count() == len(found)  # Compared once more, none is there twice.
        # A refund is lost: the balance is too high, and nothing is paid out of it.
        assert acme.get("/v1/merchant")["payouts_enabled"] is False
        assert acme.pay().status == 200
        sweep()
        findings = {one.name: one.differences for one in report.run().findings}
        different = [said for said in findings.values() if said]
        assert len(findings["the bank's book is ours"]) == len(charges) + 1
        assert different == [findings["the bank's book is ours"]], different
        entry = AuditEntry.objects.get(action="installation.opened")
        assert entry.reason == REASON
        [letter] = mail.outbox
        assert all(reference in letter.body for reference in charges)
        tell(
            f"compared: {len(bank.seen)} requests at the bank, {len(found)} bookings lost and "
            f"found, 2 adopted, {Jump.objects.count()} objects' numbers moved by {BY}"
        )


def test_a_refund_that_waited_in_the_copy_and_has_left_is_not_sent_again(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=5000)
    begin_at_noon()
    paid = acme.pay()["id"]
    end_the_day()
    refund = acme.refund(paid)
    assert refund["pending_reason"] == "insufficient_funds"
    make_mark()
    dump(tmp_path / "dump")
    acme.pay()
    tasks.send_waiting()
    sweep()
    assert acme.refunded(refund["id"])["status"] == "succeeded"

    with restored_from(tmp_path / "dump"):
        said = compare()
        assert said.count("ADOPTED") == 1  # A refund that the bank has is not lost.
        assert not Difference.objects.filter(type="refund").exists()
        open_it()
        asked = len(bank.seen)
        tasks.send_waiting()
        sweep()

        assert acme.refunded(refund["id"])["status"] == "succeeded"
        assert all(path.startswith("/refunds/") for path in bank.seen[asked:])  # Inquiries alone.
        assert BankRefund.objects.count() == 1


def test_merchants_are_told_again_if_the_opening_died_before(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="nothing to mail"):
        call_command("after_restore", "mail")
    make_mark()
    dump(tmp_path / "dump")

    with restored_from(tmp_path / "dump"):
        with dies(reopening, "tell_merchants"), pytest.raises(Died):
            open_it()
        assert mail.outbox == []

        call_command("after_restore", "mail", stdout=StringIO())

        [letter] = mail.outbox
        assert "restored from a backup" in letter.body


def test_a_replay_of_the_lost_server_finds_a_horizon_of_its_own(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    make_mark()
    endpoint = EndpointFactory(merchant=acme.merchant, replay_xid=2**40)
    dump(tmp_path / "dump")

    with restored_from(tmp_path / "dump"):
        compare()

        endpoint.refresh_from_db()
        assert endpoint.replay_xid == 0
        assert not Session.objects.exists()
        assert not Invitation.objects.exists()


def test_a_database_that_was_not_restored_is_left_alone() -> None:
    make_mark()

    with pytest.raises(CommandError, match="is not held: it is the installation's own"):
        compare()


def test_two_at_once_are_one(acme: ApiClient, bank: BankTransport) -> None:
    make_mark()
    hold()

    with after_restore._alone(), pytest.raises(CommandError, match="Another after_restore"):
        compare()

    compare()


def test_numbers_move_once_for_a_restore_and_not_again_after_a_kill(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mark()
    paid = acme.pay(capture_method="manual")["id"]
    told = acme.events_of(paid)[-1]["sequence"]
    hold()
    with monkeypatch.context() as patched:
        patched.setattr(restored, "close_doors", _killed)
        with pytest.raises(KeyboardInterrupt):
            compare()

    compare()
    open_it()

    assert [(one.after, one.upto) for one in Jump.objects.filter(aggregate_id=paid)] == [
        (told, told + BY)
    ]
    acme.post(f"/v1/payment_intents/{paid}/capture")
    assert acme.events_of(paid)[-1]["sequence"] == told + BY + 1
    assert report.run().is_clean


def test_a_lost_event_is_still_found_beside_a_jump(acme: ApiClient, bank: BankTransport) -> None:
    make_mark()
    paid = acme.pay()["id"]
    hold()
    compare()
    open_it()
    acme.refund(paid)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE events_counter SET last = last + 1 WHERE aggregate_id = %s", [paid])

    [found] = [one for one in report.run().findings if one.name.startswith("events of an object")]

    assert len(found.differences) == 1


def test_a_bank_that_is_away_opens_nothing(acme: ApiClient, bank: BankTransport) -> None:
    make_mark()
    acme.pay()
    hold()
    bank.fault = "cut_before"

    with pytest.raises(CommandError, match="It stays held"):
        open_it()

    assert installation.is_held()


def hold() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_installation SET held_at = now(), held_reason = 'a test'")


def _killed() -> None:
    raise KeyboardInterrupt
