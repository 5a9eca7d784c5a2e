"""The adapter of the old bank: each answer is read for what it proves, and for no more."""

from dataclasses import replace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from acquirers import standings, terminals
from acquirers.gateway import AuthorizationRequest, Order
from acquirers.messages import written
from acquirers.outcomes import Answer, Finding, OperationKind, Outcome, Reason
from core import clock
from core.cards import CardData
from core.money import MAX_REQUESTED_MINOR
from merchants.models import Merchant
from tests.stage.oldbank import messages
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.terminals import SECOND
from tests.stage.oldbank.way import add_terminal, spoil_credentials
from vault import cards as vault_cards

GOOD, DECLINED, SOFT = "4242424242424242", "4000000000009995", "4000002760003184"
CHARGED, NOT_CHARGED, LATER_YES = "4000001100000017", "4000001100000025", "4000001100000033"
CAPTURE_FAILS, VOID_FAILS = "4000001100000066", "4000001100000074"


def pay(
    gateway: OldBankGateway,
    order: Order,
    number: str = GOOD,
    *,
    capture: bool = True,
    cvc: str = "123",
) -> Outcome:
    merchant = Merchant.objects.get(id=order.merchant_id)
    sealed = vault_cards.seal(merchant.id, CardData(number, 12, 2034), now=clock.now())
    request = AuthorizationRequest(order=order, capture=capture, sealed=sealed, cvc=cvc)
    return gateway.authorize(request)


def held(gateway: OldBankGateway, order: Order, number: str = GOOD) -> Order:
    """Authorise without a capture; return the order with the bank's numbers."""
    told = pay(gateway, order, number, capture=False)
    assert told.answer is Answer.APPROVED
    return replace(order, numbers=told.exchange.numbers)


# --- Answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "answer", "code"),
    [
        (GOOD, Answer.APPROVED, "00"),
        (DECLINED, Answer.DECLINED, "51"),
        ("4100000000000019", Answer.DECLINED, "34"),
        (SOFT, Answer.AUTHENTICATION_REQUIRED, "1A"),
        (LATER_YES, Answer.PENDING, "09"),
        (CHARGED, Answer.UNKNOWN, None),
        (NOT_CHARGED, Answer.UNKNOWN, None),
    ],
)
def test_cards_behave_as_at_the_sandboxs_bank(
    number: str, answer: Answer, code: str | None, gateway: OldBankGateway, order: Order
) -> None:
    told = pay(gateway, order, number)

    assert (told.answer, told.response_code) == (answer, code)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    "kind",
    [
        "hang", "half", "html", "error_500", "redirect", "empty", "other_order", "contradiction",
        "doctype", "entities", "too_long", "wrong_encoding", "wrong_type", "timeout_reversed",
        "duplicate",
    ],
)  # fmt: skip
def test_an_answer_that_proves_nothing_leaves_a_charge_unknown(
    kind: str, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    old_bank.misbehave(kind)

    told = pay(gateway, order)

    assert told.answer is Answer.UNKNOWN
    assert [(line.kind, line.state) for line in old_bank.book()][0] == ("S", "A")
    assert standings.authorization(gateway.inquire(order)).answer is Answer.APPROVED


@pytest.mark.parametrize(
    "kind", ["hang", "half", "html", "error_500", "doctype", "wrong_type", "other_order", "empty"]
)
def test_an_inquiry_without_an_answer_finds_nothing_out(
    kind: str, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)
    old_bank.misbehave(kind, on="History")

    assert gateway.inquire(order).finding is Finding.UNKNOWN
    assert gateway.inquire(order).finding is Finding.FOUND


def test_an_answer_after_the_time_out_is_none(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    old_bank.take_time(silence_seconds=2)
    old_bank.misbehave("late")

    with override_settings(ACQUIRER_TIMEOUT_SECONDS=0.5):
        assert pay(gateway, order).answer is Answer.UNKNOWN


def test_a_second_try_is_sent_back_to_an_inquiry(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)

    again = pay(gateway, order)

    assert (again.answer, again.exchange.code) == (Answer.UNKNOWN, "E-3001")
    assert len(old_bank.book()) == 1


def test_a_bank_that_is_killed_was_not_reached(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    old_bank.kill()
    try:
        assert pay(gateway, order).answer is Answer.NOT_SENT
        assert gateway.inquire(order).finding is Finding.UNKNOWN
    finally:
        old_bank.start()


@pytest.mark.parametrize("change", ["password", "user", "terminal"])
def test_wrong_credentials_charge_nothing_and_name_the_banks_code(
    change: str, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    told = terminals.credentials_of(order.terminal)
    terminals.replace(order.terminal, {**told, change: "7"})

    refused = pay(gateway, order)

    assert (refused.answer, refused.exchange.code) == (Answer.NOT_CHARGED, "E-2001")
    assert gateway.inquire(order).finding is Finding.UNKNOWN
    assert old_bank.book() == []


def test_a_refusal_for_what_the_payer_typed_gives_its_reason_and_no_invented_code(
    gateway: OldBankGateway, order: Order
) -> None:
    refused = pay(gateway, order, cvc="12")

    assert (refused.answer, refused.reason) == (Answer.NOT_CHARGED, Reason.INCORRECT_CVC)
    assert (refused.response_code, refused.exchange.code) == (None, "E-1010")


# --- Standings and modifications --------------------------------------------------------------


def test_no_record_is_no_decline(gateway: OldBankGateway, order: Order) -> None:
    assert gateway.inquire(order).finding is Finding.NO_RECORD
    assert gateway.void(order).answer is Answer.UNKNOWN
    assert gateway.capture(order, amount=1).answer is Answer.UNKNOWN


def test_after_a_capture_the_standing_tells_of_the_payment_too(
    gateway: OldBankGateway, order: Order
) -> None:
    captured = gateway.capture(held(gateway, order), amount=5000)

    standing = gateway.inquire(order)

    assert (captured.answer, captured.captured) == (Answer.APPROVED, 5000)
    assert [one.deed for one in standing.operations] == [
        OperationKind.AUTHORIZATION,
        OperationKind.CAPTURE,
    ]
    told = standings.authorization(standing)
    assert (told.answer, told.captured, told.response_code) == (Answer.APPROVED, 5000, "00")


def test_a_refused_capture_hides_no_payment(gateway: OldBankGateway, order: Order) -> None:
    assert gateway.capture(held(gateway, order, CAPTURE_FAILS), amount=1).answer is Answer.DECLINED

    standing = gateway.inquire(order)

    assert standings.authorization(standing).answer is Answer.APPROVED
    assert standings.modification(standing, OperationKind.CAPTURE).answer is Answer.NO_RECORD


def test_a_capture_that_comes_twice_is_asked_about(gateway: OldBankGateway, order: Order) -> None:
    order = held(gateway, order)
    gateway.capture(order, amount=5000)

    assert gateway.capture(order, amount=5000).answer is Answer.UNKNOWN


@pytest.mark.parametrize("known", ["both", "payment", "none"])
def test_a_void_after_a_capture_has_to_name_the_capture(
    known: str, gateway: OldBankGateway, order: Order
) -> None:
    order = held(gateway, order)
    captured = gateway.capture(order, amount=5000).exchange.numbers
    named = {f"capture.{name}": number for name, number in captured.items()}
    numbers = {"both": {**order.numbers, **named}, "payment": order.numbers, "none": {}}
    is_named = known == "both"

    outcome = gateway.void(replace(order, numbers=numbers[known]))

    assert outcome.answer is (Answer.APPROVED if is_named else Answer.UNKNOWN)
    left = standings.authorization(gateway.inquire(order)).answer
    assert left is (Answer.VOIDED if is_named else Answer.APPROVED)


def test_a_capture_that_is_found_has_its_own_numbers(gateway: OldBankGateway, order: Order) -> None:
    order = held(gateway, order)
    told = gateway.capture(order, amount=5000).exchange.numbers

    found = standings.modification(gateway.inquire(order), OperationKind.CAPTURE)

    assert (found.answer, dict(found.exchange.numbers)) == (Answer.APPROVED, dict(told))
    assert told["trans_id"] != order.numbers["trans_id"]


def test_a_refused_void_leaves_the_payment(gateway: OldBankGateway, order: Order) -> None:
    order = held(gateway, order, VOID_FAILS)

    assert gateway.void(order).answer is Answer.DECLINED
    assert standings.authorization(gateway.inquire(order)).answer is Answer.APPROVED


def test_a_void_at_the_wrong_terminal_is_no_release(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    order = held(gateway, order)
    wrong = replace(order, terminal=add_terminal(old_bank, SECOND))

    assert gateway.void(wrong).answer is Answer.UNKNOWN
    assert [(line.kind, line.state) for line in old_bank.book()] == [("P", "A")]


def test_an_approval_that_the_bank_reverses_is_voided_at_a_later_inquiry(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    old_bank.misbehave("timeout_reversed")
    pay(gateway, order)

    assert standings.authorization(gateway.inquire(order)).answer is Answer.APPROVED
    old_bank.move_clock(61)
    assert standings.authorization(gateway.inquire(order)).answer is Answer.VOIDED


def test_a_terminal_whose_credentials_do_not_open_asks_nobody(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    spoil_credentials(order.terminal)

    assert pay(gateway, order).answer is Answer.NOT_SENT
    assert gateway.inquire(order).finding is Finding.UNKNOWN
    assert old_bank.seen() == []


# --- Amounts, and live ------------------------------------------------------------------------


@given(st.integers(1, MAX_REQUESTED_MINOR))
def test_money_goes_to_text_and_back_by_digits(amount: int) -> None:
    assert messages.minor(written(amount)) == amount
    assert messages.FORMS["Amount"][1].fullmatch(written(amount))


def test_a_live_installation_refuses_it() -> None:
    with override_settings(LIVEMODE=True), pytest.raises(ImproperlyConfigured):
        OldBankGateway()
