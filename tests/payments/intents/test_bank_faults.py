"""Faults on the way to the bank and back, and answers that are none: they only cost time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from acquirers.conversation import settling
from core import context
from merchants.models import RequestLog
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

CHARGED, NOT_CHARGED, NEVER_KNOWN = "4000001100000017", "4000001100000025", "4000001100000058"
DAY = 86_400


FAULTS = {
    # fault: what the client sees, what the bank's book has taken
    "cut_before": ("requires_payment_method", 0),
    "lost": ("processing", 0),
    "cut_after": ("processing", 12500),
    "delay": ("processing", 12500),
    "garble": ("processing", 12500),
}


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_while_authorising_ends_as_the_bank_did_it(
    fault: str, acme: ApiClient, bank: BankTransport
) -> None:
    status, taken = FAULTS[fault]
    bank.fault = fault

    paid = acme.pay()

    assert paid["status"] == status
    bank.fault = None
    for _ in range(4):
        sweep_after(DAY)
    assert captured_by_bank(acme) == acme.pending() == taken
    ended = "succeeded" if taken else "requires_payment_method"
    assert acme.payment(paid["id"])["status"] == ended


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("number", "taken"), [(CHARGED, 12500), (NOT_CHARGED, 0)])
def test_a_fault_while_inquiring_only_costs_time(
    number: str, taken: int, fault: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(number)
    bank.fault = fault
    for wait in (10, 30, 120, 600, DAY):
        sweep_after(wait)
        assert acme.payment(paid["id"])["status"] == "processing"
    assert acme.told(paid["id"]) == ["created", "processing"]

    bank.fault = None
    sweep_after(DAY)

    ended = "succeeded" if taken else "requires_payment_method"
    assert acme.payment(paid["id"])["status"] == ended
    assert captured_by_bank(acme) == acme.pending() == taken


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize(
    "garbled",
    [
        b"",
        b"null",
        b"[]",
        b"<html>",
        b'{"result": "approved"}',
        b'{"result": "no_record"}',
        b'{"reference": "ref_another", "result": "no_record"}',
        b'{"reference": "ref_another", "result": "approved", "response_code": "00"}',
        b'{"result": ' + b"[" * 5000,
    ],
)
def test_an_answer_that_is_not_about_this_payment_says_nothing(
    garbled: bytes, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(CHARGED)
    bank.fault, bank.garbled = "garble", garbled

    for _ in range(5):
        sweep_after(DAY)

    assert acme.payment(paid["id"])["status"] == "processing"


def test_a_direct_no_record_is_no_answer_to_an_authorisation(
    acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault, bank.garbled = "garble", b'{"reference": "ref_1", "result": "no_record"}'

    assert acme.pay(GOOD_CARD)["status"] == "processing"


def test_nothing_due_asks_nobody(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()
    acme.pay("4000000000000002")

    sweep_after(DAY)

    assert bank.inquiries_seen() == 0


def test_a_late_outcome_has_a_request_log_of_its_own(acme: ApiClient, bank: BankTransport) -> None:
    paid, never_known = acme.pay(CHARGED), acme.pay(NEVER_KNOWN)

    sweep_after(10)

    rows = acme.get("/v1/request_logs?limit=100")["data"]
    [job] = [row for row in rows if row["kind"] == "job"]
    assert (job["path"], job["object_id"]) == (
        "payments.intents.tasks.resolve_unknown",
        paid["id"],
    )
    assert acme.payment(never_known["id"])["status"] == "processing"


ANSWER_OF_ANOTHER_FORM = [
    {"authorization_code": "A" * 41},
    {"authorization_code": "\ud800"},
    {"authorization_code": "a\0b"},
    {"network_reference": "x" * 200},
    {"network_reference": "4242424242424242 "},
    {"response_code": "4" * 300},
    {"response_code": "4242424242424242"},
    {"response_code": "\0"},
    {"risk": {"level": "weird", "score": 3}},
    {"risk": {"level": None, "score": 3}},
    {"risk": None},
    {"captured_amount": "12500"},
]


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize("changes", ANSWER_OF_ANOTHER_FORM, ids=lambda changes: str(changes)[:40])
@pytest.mark.at_the_sandbox("JSON")
def test_an_answer_of_another_form_is_no_answer(
    changes: dict, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answers_changed(bank, changes, monkeypatch):
        paid = acme.pay()
        assert (paid.status, paid["status"]) == (200, "processing")
        sweep_after(10)
        assert acme.payment(paid["id"])["status"] == "processing"

    sweep_after(30)
    assert acme.payment(paid["id"])["status"] == "succeeded"


@contextmanager
def answers_changed(
    bank: BankTransport, changes: dict, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    real = bank._ask

    def ask(request: Any) -> tuple[int, bytes]:
        status, content = real(request)
        return status, json.dumps({**json.loads(content), **changes}).encode()

    with monkeypatch.context() as patch:
        patch.setattr(bank, "_ask", ask)
        yield


def test_a_bug_that_one_payment_meets_is_not_the_others_trouble(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, *others = [acme.pay(CHARGED)["id"] for _ in range(4)]
    real = settling.settle

    def settle(kind: Any, attempt: Attempt, *rest: Any) -> Any:
        if attempt.intent_id == stuck:
            raise ZeroDivisionError
        return real(kind, attempt, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(settling, "settle", settle)
        sweep_after(10)

    assert {acme.payment(one)["status"] for one in others} == {"succeeded"}
    sweep_after(30)
    assert acme.payment(stuck)["status"] == "succeeded"


def test_a_job_claims_no_change_that_another_made(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.pay(CHARGED)
    real = settling.settle

    def settle(*arguments: Any) -> Any:
        with context.work():
            real(*arguments)
        return real(*arguments)

    monkeypatch.setattr(settling, "settle", settle)
    sweep_after(10)

    assert PaymentIntent.objects.get().status == "succeeded"
    assert not RequestLog.objects.filter(kind="job").exists()
