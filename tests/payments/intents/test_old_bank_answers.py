"""Bad answers of a bank of the old kind: a payment waits, never charged twice or given up."""

from itertools import product
from typing import Any

import pytest

from tests.stage import bank_books
from tests.stage.bank_days import begin_at_noon
from tests.stage.books import captured_by_bank
from tests.stage.both_banks import OLD
from tests.stage.client import ApiClient
from tests.stage.lengths import length
from tests.stage.oldbank.way import OldBankWay
from tests.stage.sweeper import sweep_after

pytestmark = [
    pytest.mark.proof(part="doors"),
    pytest.mark.parametrize("door", [OLD], indirect=True),
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
BAD_ANSWERS = (
    "hang", "late", "half", "html", "error_500", "redirect", "empty", "other_order",
    "contradiction", "doctype", "entities", "too_long", "wrong_encoding", "wrong_type",
    "timeout_reversed", "duplicate",
)  # fmt: skip
# Each of them is met in the gate, by a charge, a capture, a cancellation or an inquiry.
PLAIN = [kind for kind in BAD_ANSWERS if kind != "timeout_reversed"]
ENDED = {"capture": "succeeded", "cancel": "canceled"}
DAY = 86_400


@pytest.fixture(autouse=True)
def _a_late_answer_comes_after_the_time_out(
    request: pytest.FixtureRequest, bank: OldBankWay, settings: Any
) -> None:
    if "late" in request.node.callspec.params.values():
        settings.ACQUIRER_TIMEOUT_SECONDS = 1.0
        bank.bank.take_time(silence_seconds=2.0)


@pytest.mark.parametrize("kind", length(short=PLAIN[::4], full=BAD_ANSWERS))
def test_a_charge_with_a_bad_answer_is_found_out(
    kind: str, acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave(kind)

    paid = acme.pay()
    sweep_after(10)

    assert paid["status"] == "processing"
    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500
    assert acme.told(paid["id"]) == ["created", "processing", "succeeded"]


@pytest.mark.parametrize(
    ("action", "kind"),
    length(
        short=[*product(["capture"], PLAIN[1::4]), *product(["cancel"], PLAIN[2::4])],
        full=[*product(ENDED, PLAIN)],
    ),
)
def test_a_modification_with_a_bad_answer_is_found_out(
    action: str, kind: str, acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = acme.pay(capture_method="manual")["id"]
    bank.bank.misbehave(kind)

    answer = acme.post(f"{PATH}/{payment_id}/{action}")
    sweep_after(10)

    assert answer["status"] == "processing"
    assert acme.payment(payment_id)["status"] == ENDED[action]
    assert acme.pending() == sum(bank_books.order().taken)


@pytest.mark.parametrize("fault", ["", "hang"], ids=["answered", "found_out"])
def test_captured_money_is_voided_by_the_captures_number(
    fault: str, acme: ApiClient, bank: OldBankWay
) -> None:
    begin_at_noon()
    payment_id = acme.pay(capture_method="manual")["id"]
    if fault:
        bank.bank.misbehave(fault)
    acme.post(f"{PATH}/{payment_id}/capture")
    sweep_after(10)
    asked = len(bank.seen)

    back = acme.refund(payment_id)

    assert (back["status"], back["method"]) == ("succeeded", "void")
    assert [kind for kind, _order, _terminal in bank.seen[asked:]] == ["Void"]
    assert (bank_books.order().state, acme.pending()) == ("voided", 0)


@pytest.mark.parametrize("kind", length(short=PLAIN[3::4], full=PLAIN))
def test_an_inquiry_with_a_bad_answer_only_costs_time(
    kind: str, acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = acme.pay("4000001100000017")["id"]
    bank.bank.misbehave(kind, on="History", times=2)

    sweep_after(10)
    sweep_after(30)
    assert acme.payment(payment_id)["status"] == "processing"
    sweep_after(DAY)

    assert acme.payment(payment_id)["status"] == "succeeded"


def test_a_request_that_the_bank_never_worked_on_is_given_up_late(
    acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave("hang_before")
    payment_id = acme.pay()["id"]

    for _ in range(2):
        sweep_after(DAY)
        assert acme.payment(payment_id)["status"] == "processing"
    sweep_after(DAY)

    assert acme.payment(payment_id)["status"] == "requires_payment_method"
    assert bank_books.orders() == []


def test_a_payment_that_the_bank_reversed_itself_was_not_charged(
    acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave("timeout_reversed")
    payment_id = acme.pay()["id"]

    sweep_after(DAY)

    assert acme.payment(payment_id)["status"] == "requires_payment_method"
    assert (bank_books.order().state, acme.pending()) == ("voided", 0)


def test_a_bank_that_is_killed_and_comes_back_tells_what_it_did(
    acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave("hang")
    payment_id = acme.pay()["id"]
    bank.bank.kill()
    try:
        sweep_after(10)
        assert acme.payment(payment_id)["status"] == "processing"
        assert acme.pay()["status"] == "requires_payment_method"
    finally:
        bank.bank.start()
    sweep_after(DAY)

    assert acme.payment(payment_id)["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500
