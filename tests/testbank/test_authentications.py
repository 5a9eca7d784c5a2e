"""3-D Secure between the service and the bank: begun, and proven at the authorisation."""

import logging
from typing import Any

import pytest
from django.db import IntegrityError

from testbank import behaviours
from testbank.models import Authentication, Authorization
from testbank.states import AuthenticationState, State
from tests.stage import payer
from tests.stage.bank_orders import (
    ask,
    authenticate,
    authentication_order,
    authorize,
    capture,
    inquire,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CANNOT_START, ALWAYS_FAILS = "4151111111111112", "4131111111111117"
THEN_APPROVED, THEN_DECLINED = "4000002760003184", "4000008400001629"
UNLISTED = "4000056655665556"


def proof(number: str = THEN_APPROVED, button: str = "Approve", **changes: Any) -> dict[str, str]:
    """Go through 3-D Secure as a payer; return what the service hands in afterwards."""
    challenge = payer.open_challenge(authenticate(number, **changes)["acs_url"])
    answer = payer.press(challenge, button).form.fields
    return {name: answer[name] for name in ("transaction_id", "eci", "cavv")}


# --- Beginning --------------------------------------------------------------------------------


def test_a_challenge_leads_to_the_banks_public_address(settings: Any) -> None:
    settings.TESTBANK_PUBLIC_URL = "https://bank.example"

    told = authenticate()

    transaction_id = Authentication.objects.get().transaction_id
    assert told == {
        "reference": "ref_1",
        "result": "challenge",
        "transaction_id": transaction_id,
        "acs_url": f"https://bank.example/acs/{transaction_id}",
        "version": "2.2.0",
    }
    assert len(transaction_id) == len("3ds_") + 24


@pytest.mark.parametrize("number", [*behaviours.CARDS, UNLISTED])
def test_every_listed_card_but_one_is_challenged(number: str) -> None:
    told = authenticate(number)

    if number in (CANNOT_START, UNLISTED):
        assert told == {"reference": "ref_1", "result": "cannot_start"}
    else:
        assert told["result"] == "challenge"


def test_a_reference_asked_again_gets_the_first_answer() -> None:
    first = authenticate()

    assert authenticate(CANNOT_START, amount=99) == first
    payer.press(payer.open_challenge(first["acs_url"]), "Approve")
    assert authenticate() == first
    assert Authentication.objects.get().amount == 12500


def test_what_cannot_start_has_no_page() -> None:
    authenticate(CANNOT_START)

    transaction_id = Authentication.objects.get().transaction_id
    assert payer.get(f"/acs/{transaction_id}").status == 404
    assert Authentication.objects.get().state == AuthenticationState.CANNOT_START


@pytest.mark.parametrize(
    "changes",
    [
        {"merchant_name": ""},
        {"merchant_name": "x" * 201},
        {"merchant_name": "a\x00b"},
        {"merchant_name": "a\ud800b"},
        {"merchant_name": None},
        {"callback_url": "javascript:alert(1)"},
        {"callback_url": "/3ds/att_1"},
        {"callback_url": "https://pay.example/ x"},
        {"callback_url": "https://pay.example/4242424242424242"},
        {"callback_url": "https://" + "x" * 2000},
        {"amount": 0},
        {"currency": "TRY"},
        {"reference": "4242424242424242"},
        {"card": None},
    ],
    ids=lambda changes: repr(changes)[:40],
)
def test_a_malformed_authentication_is_refused_and_not_booked(changes: dict[str, Any]) -> None:
    status, told = ask(authentication_order(**changes), "/authentications")

    assert (status, list(told)) == (400, ["error"])
    assert "4242" not in told["error"]
    assert not Authentication.objects.exists()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", [*behaviours.CARDS, UNLISTED])
def test_no_card_number_is_booked_logged_or_shown(
    number: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        told = authenticate(number, merchant_name=f"Shop {number}")
        pages = [payer.get(f"/acs/{told.get('transaction_id', 'none')}")]
        pages += [payer.press(page, "Approve") for page in pages if page.forms]

    assert number not in str(Authentication.objects.values().get())
    assert number not in caplog.text
    assert [page for page in pages if number.encode() in page.content] == []


def test_the_database_refuses_a_card_number_in_an_authentication() -> None:
    authenticate()

    with pytest.raises(IntegrityError, match="bank_authenticates_without_a_card_number"):
        Authentication.objects.update(merchant="4242424242424242")


def test_the_database_refuses_a_decision_that_was_not_signed() -> None:
    authenticate()

    with pytest.raises(IntegrityError, match="bank_signs_what_was_decided_and_nothing_else"):
        Authentication.objects.update(state=AuthenticationState.AUTHENTICATED, decision="approve")


# --- The authorisation that follows -----------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "without", "with_proof"),
    [
        ("4766620000000001", "authentication_required 1A", "approved 00"),
        ("9792020000000001", "authentication_required 1A", "approved 00"),
        (THEN_APPROVED, "authentication_required 1A", "approved 00"),
        (THEN_DECLINED, "authentication_required 1A", "declined 05"),
        ("4242424242424242", "approved 00", "approved 00"),
        ("5555555555554444", "approved 00", "approved 00"),
        ("4000000000009995", "declined 51", "declined 51"),
        ("4100000000000019", "declined 34", "declined 34"),
        ("4000001100000041", "pending 09", "pending 09"),
    ],
)
def test_how_a_card_ends_with_authentication_and_without(
    number: str, without: str, with_proof: str
) -> None:
    plain = authorize(number, reference="plain")
    secure = authorize(number, authentication=proof(number))

    told = [f"{answer['result']} {answer['response_code']}" for answer in (plain, secure)]
    assert told == [without, with_proof]


def test_an_authenticated_payment_is_captured_as_any_other() -> None:
    authorize(THEN_APPROVED, authentication=proof())

    assert capture(12500)["result"] == "captured"
    assert Authorization.objects.get().behaviour == "authenticate_then_approve"


def test_a_soft_decline_stays_one_and_a_new_reference_is_approved() -> None:
    authorize(THEN_APPROVED)
    late = authorize(THEN_APPROVED, authentication=proof())
    new = authorize(THEN_APPROVED, reference="ref_2", authentication=proof(reference="ref_2"))

    assert (late["result"], new["result"]) == ("authentication_required", "approved")


@pytest.mark.parametrize("number", [THEN_APPROVED, "4242424242424242", "4000001100000017"])
@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 12501},
        {"currency": "usd"},
        {"merchant": "mer_globex"},
        {"reference": "ref_2"},
    ],
    ids=repr,
)
def test_a_proof_is_good_for_its_own_payment_and_no_other(
    number: str, changes: dict[str, Any]
) -> None:
    told = authorize(number, authentication=proof(number), **changes)

    booked = Authorization.objects.get()
    assert (told["result"], told["response_code"]) == ("declined", "12")
    assert (booked.state, booked.captured_amount) == (State.DECLINED, 0)
    assert booked.behaviour == behaviours.of(number).name


@pytest.mark.parametrize(
    "changes",
    [
        {"eci": "06"},
        {"cavv": ""},
        {"cavv": "x" * 28},
        {"transaction_id": "3ds_unknown"},
        {"transaction_id": ""},
    ],
    ids=repr,
)
def test_a_proof_that_was_altered_proves_nothing(changes: dict[str, str]) -> None:
    told = authorize(THEN_APPROVED, authentication={**proof(), **changes})

    assert (told["result"], told["response_code"]) == ("declined", "12")


def test_a_proof_of_another_card_proves_nothing() -> None:
    told = authorize("4766620000000001", authentication=proof(THEN_APPROVED))

    assert (told["result"], told["response_code"]) == ("declined", "12")


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_who_was_not_authenticated_has_no_proof(button: str) -> None:
    told = authorize(THEN_APPROVED, authentication=proof(button=button))

    assert (told["result"], told["response_code"]) == ("declined", "12")


def test_the_card_that_always_fails_is_declined_whatever_is_pressed() -> None:
    told = authorize(ALWAYS_FAILS, authentication=proof(ALWAYS_FAILS, "Approve"))

    assert (told["result"], told["response_code"]) == ("declined", "12")


def test_an_undecided_challenge_proves_nothing() -> None:
    transaction_id = authenticate()["transaction_id"]

    told = authorize(authentication={"transaction_id": transaction_id, "eci": "", "cavv": ""})

    assert (told["result"], told["response_code"]) == ("declined", "12")


@pytest.mark.parametrize("number", [THEN_APPROVED, "4242424242424242"])
def test_after_dont_answer_the_bank_is_silent_and_has_declined(number: str) -> None:
    evidence = proof(number, "Don't answer")

    assert authorize(number, authentication=evidence) is None
    assert authorize(number, authentication=evidence) is None
    assert (inquire()["result"], inquire()["response_code"]) == ("declined", "05")
    assert Authorization.objects.get().captured_amount == 0


@pytest.mark.parametrize(
    "sent", [[], "x", {}, {"transaction_id": "x", "eci": 5, "cavv": ""}, {"eci": "05", "cavv": "é"}]
)
def test_a_proof_of_another_form_is_refused_and_not_booked(sent: Any) -> None:
    assert authorize(authentication=sent).keys() == {"error"}
    assert not Authorization.objects.exists()


def test_no_proof_is_as_good_as_none_sent() -> None:
    assert authorize(authentication=None)["result"] == "approved"
