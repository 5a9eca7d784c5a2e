"""A real dump, restored to before some payments while the bank went on: found, adopted, opened."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection

from acquirers.sandbox.gateway import SandboxGateway
from acquirers.sandbox.transfers import SandboxTransfers
from audit import reopening, report, restored
from audit.management.commands import after_restore
from audit.reconciliation.models import Difference
from core import heartbeat, installation, marks
from devstack.state import ROOT
from events.jumps import BY
from events.models import Jump
from ledger.models import Price
from merchants.models import AuditEntry, Invitation, Session, User
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt
from payments.refunds import tasks
from payments.refunds.models import Refund
from payouts.models import Payout
from testbank.garanti.terminals import FIRST
from testbank.models import Refund as BankRefund
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.booked import movements
from tests.stage.client import ApiClient
from tests.stage.draining import until
from tests.stage.dumps import dump, restored_from
from tests.stage.factories import EndpointFactory, payment
from tests.stage.garanti.way import garanti_behind
from tests.stage.second_factors import add_app, code
from tests.stage.sweeper import Died, dies, sweep, sweep_after
from tests.stage.transfers import at_the_bank, hear_after, pay_out, rich, sent, shown

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

REASON = "Compared with the bank by telephone."
LOST = 5


def tell(compared: str) -> None:
    sys.stdout.write(f"{compared}\n")


@pytest.fixture(autouse=True)
def _nothing_is_known_afterwards(tmp_path: Path, settings: Any) -> Iterator[None]:
    settings.MARK_FILE = tmp_path / "mark"
    yield
    installation._known[0] = None


def make_mark() -> None:
    with closing(heartbeat._connected()) as raw:
        marks.keep(raw)


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
        assert f"/panel/{acme.merchant.id}/restores" in letter.body
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


def test_refunds_that_no_statement_vouches_for_are_asked_about_and_never_sent_twice(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    once = replace(SandboxGateway.capabilities, refunds_are_idempotent=False)
    monkeypatch.setattr(SandboxGateway, "capabilities", once)
    monkeypatch.setattr(SandboxGateway, "statement", lambda *_args, **_options: None)
    Price.objects.create(merchant=acme.merchant, currency="try", bps=6000)
    begin_at_noon()
    payments = [acme.pay()["id"] for _ in range(2)]
    end_the_day()
    left, never_left = (acme.refund(paid)["id"] for paid in payments)
    make_mark()
    dump(tmp_path / "dump")
    acme.pay()
    tasks.send_waiting()
    sweep()
    ends = [acme.refunded(one)["status"] for one in (left, never_left)]
    assert ends == ["succeeded", "pending"]

    with restored_from(tmp_path / "dump"):
        hold()
        said = compare()

        assert said.count("the bank is asked whether it has it") == 2
        assert "is asked" not in compare()
        open_it()
        asked = len(bank.seen)
        tasks.send_waiting()
        sweep()
        assert acme.refunded(left)["status"] == "succeeded"
        assert {path.rpartition("/")[0] for path in bank.seen[asked:]} == {"/refunds"}  # Inquiries.
        for _ in range(4):
            sweep_after(3600)
        assert acme.refunded(never_left)["status"] == "succeeded"
        assert (bank.seen[asked:].count("/refunds"), BankRefund.objects.count()) == (1, 2)
        tell("1 refund that had left was asked about, 1 that had not was sent after 3 inquiries")


@pytest.mark.parametrize("door", ["sandbox", "garanti"])
def test_a_void_that_became_a_refund_in_the_lost_time_is_not_refunded_again(
    door: str, acme: ApiClient, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with ExitStack() as doors:
        bank = (
            request.getfixturevalue("bank")
            if door == "sandbox"
            else doors.enter_context(garanti_behind(FIRST))
        )
        begin_at_noon()
        paid = [acme.pay()["id"] for _ in range(3)][0]
        bank.fault = "lost"
        refund = acme.refund(paid)
        assert (refund["status"], refund["method"]) == ("pending", "void")
        bank.fault = None
        make_mark()
        dump(tmp_path / "dump")
        end_the_day()
        sweep_after(3600)
        sweep_after(3600)
        ended = acme.refunded(refund["id"])
        assert (ended["status"], ended["method"]) == ("succeeded", "refund")

        with restored_from(tmp_path / "dump"):
            hold()
            open_it()
            end_the_day()  # The copy's clock is of the time of the dump.
            sweep_after(3600)
            sweep_after(3600)

            ended = acme.refunded(refund["id"])
            assert (ended["status"], ended["method"]) == ("succeeded", "refund")
            assert BankRefund.objects.count() == 1


def test_a_payout_of_the_lost_time_is_named_and_its_merchant_is_paid_out_no_more(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    silent = pay_out(rich(acme), 3000, destination="test_silent")["id"]
    sent(silent)
    waiting = pay_out(acme, 5000)["id"]
    make_mark()
    dump(tmp_path / "dump")
    lost = pay_out(acme, 7000)["id"]
    sent(waiting)
    hear_after(5)
    assert shown(acme, waiting)["status"] == shown(acme, lost)["status"] == "paid"

    with restored_from(tmp_path / "dump"):
        assert shown(acme, lost).status == 404
        said = compare()

        [case] = Difference.objects.all()
        assert (case.type, case.bank["amount"]) == ("transfer_out", 7000)
        assert (said.count("LOST"), said.count("ADOPTED")) == (1, 1)
        assert "DIFFERENT" not in said
        assert [shown(acme, one)["status"] for one in (waiting, silent)] == ["in_transit"] * 2
        open_it()
        assert acme.get("/v1/merchant")["payouts_enabled"] is False
        assert pay_out(acme, 1000).refusal == (403, "merchant_restricted", None)
        sweep_after(3600)
        hear_after(5)

        assert [shown(acme, one)["status"] for one in (waiting, silent)] == ["paid"] * 2
        assert [movements(one) for one in (waiting, silent)] == [["payout", "payout_paid"]] * 2
        assert sorted(amount for amount, _state, _moved in at_the_bank()) == [3000, 5000, 7000]
        tell("1 payout lost and found, 1 adopted, 1 unknown one asked about; sent again: 0")


def test_payouts_that_no_statement_vouches_for_are_asked_about_and_never_sent_twice(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_mark()
    waiting, never_left = (pay_out(rich(acme), amount)["id"] for amount in (3000, 2000))
    dump(tmp_path / "dump")
    acme.post(f"/v1/payouts/{never_left}/cancel")
    sent(waiting)
    hear_after(5)
    monkeypatch.setattr(SandboxTransfers, "statement", lambda _self: None)
    monkeypatch.setattr(SandboxTransfers, "references_are_idempotent", False)

    with restored_from(tmp_path / "dump"):
        hold()
        said = compare()

        assert "UNPROVED   payouts: no statement vouches for 2" in said
        assert said.count("the bank is asked whether it has it") == 2
        assert "is asked" not in compare()
        open_it()
        sweep_after(3600)
        hear_after(5)
        assert [shown(acme, one)["status"] for one in (waiting, never_left)] == [
            "paid",
            "in_transit",
        ]
        assert [amount for amount, _state, _moved in at_the_bank()] == [3000]
        tell("1 payout that had left was asked about, 1 that had not waits: sent again: 0")


def test_a_payout_that_the_copy_has_as_failed_and_the_bank_as_paid_is_for_a_person(
    acme: ApiClient, bank: BankTransport
) -> None:
    made = pay_out(rich(acme), 3000)["id"]
    sent(made)
    hear_after(5)
    make_mark()
    hold()
    Payout.objects.update(status="failed", failure_code="declined")

    assert f"payout {made} is failed, and the bank has it" in compare()


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
        with pytest.raises(CommandError, match="manage.py after_restore mail"):
            open_it()  # A command that was ended says: run it again.

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

    [jump] = Jump.objects.filter(aggregate_id=paid)
    assert (jump.after, jump.upto >= told + BY) == (told, True)
    acme.post(f"/v1/payment_intents/{paid}/capture")
    assert acme.events_of(paid)[-1]["sequence"] == jump.upto + 1
    assert report.run().is_clean


def test_no_number_is_given_twice_after_two_restores_of_one_backup(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    make_mark()
    paid = acme.pay(capture_method="manual")["id"]
    dump(tmp_path / "dump")
    told = []

    for _ in range(2):
        with restored_from(tmp_path / "dump"):
            open_it()
            acme.post(f"/v1/payment_intents/{paid}/capture")  # Adopted in the second one.
            told += [(event["sequence"], event["id"]) for event in acme.events_of(paid)[-1:]]
        second = int(time.time())
        until(lambda second=second: int(time.time()) > second)  # No restore takes less.

    assert len({sequence for sequence, _id in told}) == len(told) == 2


def test_a_dump_of_a_held_copy_moves_numbers_once_more(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    make_mark()
    paid = acme.pay()["id"]
    hold()
    make_mark()
    compare()
    dump(tmp_path / "dump")

    with restored_from(tmp_path / "dump"):
        open_it()

        jumps = Jump.objects.filter(aggregate_id=paid).order_by("after")
        assert [one.after for one in jumps[1:]] == [jumps[0].upto]


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


def test_in_live_each_step_is_an_operators_as_the_page_writes_it(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/operate/back-up.md").read_text()
    written = re.findall(r"`manage\.py after_restore ([^`]+)`", page)
    given = {"E-MAIL": "ada@pay.example", "TEXT": REASON}
    ada = User.objects.create_superuser(given["E-MAIL"], "a long enough password")
    add_app(ada)
    settings.LIVEMODE = True
    monkeypatch.setattr("sys.stdin", StringIO())

    for words in written:
        # It is asked for the code of the operator that is named.
        with pytest.raises(CommandError, match="Type the six digits that the app of ada"):
            call_command("after_restore", *(given.get(word, word) for word in words.split()))

    assert {words.split()[0] for words in written} == {"compare", "open", "mail"}


def test_in_live_an_operator_compares(
    acme: ApiClient, bank: BankTransport, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mark()
    acme.pay()
    hold()
    ada = User.objects.create_superuser("ada@pay.example", "a long enough password")
    add_app(ada)
    settings.LIVEMODE = True
    with pytest.raises(CommandError, match="Say which operator"):
        compare()
    monkeypatch.setattr("sys.stdin", StringIO(f"{code()}\n"))

    call_command("after_restore", "compare", "--as", ada.email, stdout=(said := StringIO()))

    assert "payments and payouts compared: 1" in said.getvalue()


def end_beat() -> None:
    beat = heartbeat.Heartbeat("beat")
    beat.beat()
    beat.end()


def open_moved() -> str:
    said = StringIO()
    call_command("after_restore", "open", "--nothing-lost", "--reason", REASON, stdout=said)
    return said.getvalue()


def test_a_planned_move_opens_without_a_comparison(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    paid = acme.pay()["id"]
    end_beat()
    dump(tmp_path / "dump")

    with restored_from(tmp_path / "dump"):
        assert acme.post("/v1/payment_intents", payment()).status == 503

        assert open_moved().startswith("open")

        assert acme.pay().status == 200
        assert acme.refund(paid, 100)["status"] == "succeeded"
        entry = AuditEntry.objects.get(action="installation.opened")
        assert (entry.reason, entry.after["nothing_lost"]) == (REASON, True)
        assert not Jump.objects.exists()
        assert mail.outbox == []
        with pytest.raises(CommandError, match="nothing to mail"):
            call_command("after_restore", "mail")


def test_the_same_dump_is_opened_once_without_a_comparison(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    acme.pay()
    end_beat()
    dump(tmp_path / "dump")
    with restored_from(tmp_path / "dump"):
        open_moved()
        assert acme.pay().status == 200  # Before beat has begun.

    with restored_from(tmp_path / "dump"):
        with pytest.raises(CommandError, match="Nothing proves that this database has everything"):
            open_moved()

        assert installation.is_held()


def test_a_move_whose_mark_cannot_be_spent_is_not_opened(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    end_beat()
    dump(tmp_path / "dump")
    with restored_from(tmp_path / "dump"):
        (tmp_path / "mark.new").mkdir()

        with pytest.raises(CommandError, match="Cannot write the installation's mark"):
            open_moved()

        assert installation.is_held()


@pytest.mark.parametrize(
    "meanwhile", ["a mark", "a start", "a start and an end", "no end", "no file"]
)
def test_a_move_that_may_have_lost_something_is_not_opened(
    meanwhile: str, acme: ApiClient, bank: BankTransport, tmp_path: Path, settings: Any
) -> None:
    if meanwhile == "no end":
        make_mark()
    else:
        end_beat()
    dump(tmp_path / "dump")
    if meanwhile == "a mark":
        end_beat()

    with restored_from(tmp_path / "dump"):
        if meanwhile == "a start":
            make_mark()
        if meanwhile == "a start and an end":
            end_beat()
        if meanwhile == "no file":
            settings.MARK_FILE.unlink()

        with pytest.raises(CommandError, match="Nothing proves that this database has everything"):
            open_moved()

        assert installation.is_held()


def hold() -> None:
    with closing(heartbeat._connected()) as raw:
        installation.hold(raw, "a test")


def _killed() -> None:
    raise KeyboardInterrupt
