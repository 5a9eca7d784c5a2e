"""A payment with every card of the sandbox: what is answered, charged and booked."""

import pytest

from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.both_banks import GARANTI
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, RETURN_URL, three_d_secure

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

APPROVED = [
    "4242424242424242", "5528790000000008", "5526080000000006", "4603450000000000",
    "9792030000000000", "4111111111111111", "5555555555554444", "5400010000000004",
    "4000001100000066", "4000001100000074", "4000000000007726", "4000000000005126",
    "4000000000000259", "4000000000002685", "4000000000005423",
]  # fmt: skip
# number, code, decline_code, ISO 8583, advice
DECLINED = [
    ("4000000000000002", "card_declined", "generic_decline", "06", None),
    ("4000000000009995", "card_declined", "insufficient_funds", "51", "try_again_later"),
    ("4000000000009987", "card_declined", "lost_card", "41", "do_not_try_again"),
    ("4000000000009979", "card_declined", "stolen_card", "43", "do_not_try_again"),
    ("4000000000000069", "expired_card", "expired_card", "54", "confirm_card_data"),
    ("4000000000000127", "incorrect_cvc", "incorrect_cvc", "82", "confirm_card_data"),
    ("4000000000000119", "processing_error", "processing_error", "96", "try_again_later"),
    ("4111111111111129", "card_declined", "insufficient_funds", "51", "try_again_later"),
    ("4129111111111111", "card_declined", "do_not_honor", "05", None),
    ("4100000000000019", "fraud_blocked", "fraudulent", "34", "do_not_try_again"),
]
# Other banks tell their code and no risk.
AT_OTHER_BANKS = {"fraud_blocked": "card_declined"}
# Garanti's codes of two digits, where a network's code is another.
AT_GARANTI = {"82": "12", "1A": "65"}
DEBIT = ["4766620000000001", "9792020000000001"]
CANNOT_START = "4151111111111112"
SOFT_DECLINED = [
    "4000002760003184", "4000008400001629", "4151111111111112", "4131111111111117",
]  # fmt: skip
# number, what the bank took although it has not said so
UNDECIDED = [
    ("4000001100000017", 12500),
    ("4000001100000025", 0),
    ("4000001100000033", 0),
    ("4000001100000041", 0),
    ("4000001100000058", 0),
]


def code_at(door: str, network_code: str) -> str:
    """Return what a door's bank has for a code of the card networks."""
    return AT_GARANTI.get(network_code, network_code) if door == GARANTI else network_code


def test_one_call_takes_a_payment(acme: ApiClient, bank: BankTransport) -> None:
    answer = acme.pay()

    assert answer.status == 200
    assert answer["status"] == "succeeded"
    assert (
        answer["amount_charged"] == answer["captured_minor"] == answer["amount_received"] == 12500
    )
    assert acme.payment(answer["id"]).body == answer.body


@pytest.mark.parametrize("number", APPROVED)
def test_an_approved_card_is_charged_as_the_bank_says(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(number)

    assert (answer.status, answer["status"]) == (200, "succeeded")
    assert (answer["last_payment_error"], answer["next_action"]) == (None, None)
    assert answer["captured_minor"] == captured_by_bank(acme) == acme.pending() == 12500


@pytest.mark.parametrize(("number", "code", "decline_code", "network_code", "advice"), DECLINED)
def test_a_declined_card_says_why_and_is_not_charged(
    number: str,
    code: str,
    decline_code: str,
    network_code: str,
    advice: str | None,
    acme: ApiClient,
    bank: BankTransport,
    door: str,
) -> None:
    answer = acme.pay(number)

    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    error = answer["last_payment_error"]
    assert error.pop("message")
    assert error == {
        "type": "card_error",
        "code": code if bank.repeats else AT_OTHER_BANKS.get(code, code),
        "decline_code": decline_code,
        "reason": decline_code,
        "attempt": answer["latest_attempt"],
        "network_decline_code": code_at(door, network_code),
        "advice_code": advice,
    }
    assert captured_by_bank(acme) == acme.pending() == answer["captured_minor"] == 0


def test_the_payer_does_not_learn_that_a_card_is_known_as_stolen(
    acme: ApiClient, bank: BankTransport
) -> None:
    numbers = (DECLINED_CARD, "4000000000009987", "4000000000009979", "4100000000000019")

    messages = {acme.pay(number)["last_payment_error"]["message"] for number in numbers}

    assert len(messages) == 1


@pytest.mark.at_the_sandbox("other banks tell no risk")
def test_a_blocked_card_shows_the_fraud_verdict(acme: ApiClient, bank: BankTransport) -> None:
    fraud = acme.pay("4100000000000019")["fraud"]

    assert (fraud["status"], fraud["risk_level"], fraud["risk_score"]) == ("fraud", "highest", 99)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("number", [*DEBIT, *SOFT_DECLINED])
def test_a_card_that_needs_authentication_is_never_charged_without_it(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(number, return_url=RETURN_URL)

    # A gate that takes the payer's form can refuse it only once the payer is there.
    if number == CANNOT_START and bank.repeats:
        assert answer["status"] == "requires_payment_method"
        assert answer["last_payment_error"]["reason"] == "authentication_failed"
    else:
        assert (answer.status, answer["status"]) == (200, "requires_action")
    assert answer["three_d_secure"] == {"requested": "automatic", "effective": "required"}
    assert captured_by_bank(acme) == acme.pending() == 0


@pytest.mark.parametrize("number", SOFT_DECLINED)
def test_a_soft_decline_without_a_way_back_asks_for_authentication(
    number: str, acme: ApiClient, bank: BankTransport, door: str
) -> None:
    answer = acme.pay(number)

    error = answer["last_payment_error"]
    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert error["code"] == "authentication_required"
    assert error["network_decline_code"] == code_at(door, "1A")
    assert captured_by_bank(acme) == 0


@pytest.mark.parametrize("number", DEBIT)
def test_the_bank_is_not_asked_for_a_debit_card_without_authentication(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(number, return_url=RETURN_URL, **three_d_secure("none"))

    assert answer["status"] == "requires_action"
    # A bank that takes the payer's form is not asked at all.
    assert bank.seen == (["/authentications"] if bank.repeats else [])


def test_required_authentication_keeps_a_good_card_from_the_bank(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(return_url=RETURN_URL, **three_d_secure("required"))

    assert answer["status"] == "requires_action"
    assert answer["three_d_secure"] == {"requested": "required", "effective": "required"}
    # A bank that takes the payer's form is not asked at all.
    assert bank.seen == (["/authentications"] if bank.repeats else [])


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("number", "taken"), UNDECIDED)
def test_a_bank_that_has_not_decided_leaves_the_payment_processing(
    number: str, taken: int, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(number)

    assert (answer.status, answer["status"]) == (200, "processing")
    assert (answer["captured_minor"], answer["last_payment_error"]) == (0, None)
    assert acme.pending() == 0
    assert captured_by_bank(acme) == taken


def test_manual_capture_holds_the_money_and_takes_none(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(capture_method="manual")

    assert (answer["status"], answer["amount_capturable"]) == ("requires_capture", 12500)
    assert (answer["captured_minor"], answer["amount_refundable"]) == (0, 0)
    assert captured_by_bank(acme) == acme.pending() == 0
    assert bank_books.order().amount == 12500


def test_a_bank_that_is_not_reached_charges_nothing_and_may_be_tried_again(
    acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_before"

    answer = acme.pay()

    error = answer["last_payment_error"]
    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert (error["type"], error["code"]) == ("api_error", "processing_error")
    assert error["advice_code"] == "try_again_later"
    assert len(bank_books.orders()) == 0


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", ["cut_after", "delay", "garble"])
def test_an_answer_that_is_lost_is_not_a_decline(
    fault: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = fault

    answer = acme.pay()

    assert (answer.status, answer["status"]) == (200, "processing")
    assert captured_by_bank(acme) == 12500


def test_the_bank_is_told_the_reference_of_the_attempt(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(currency="eur", amount=999_999_999_999)

    entry = bank_books.order()
    attempt = Attempt.objects.get(id=answer["latest_attempt"])
    assert entry.reference == attempt.acquirer_reference
    assert (entry.amount, entry.currency) == (999_999_999_999, "eur")
