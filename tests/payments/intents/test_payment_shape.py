"""The fields of a payment in each of its states (spec: PaymentIntent)."""

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import (
    DEBIT_CARD,
    DECLINED_CARD,
    GOOD_CARD,
    RETURN_URL,
    SILENT_CARD,
    unconfirmed,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ALWAYS = {
    "id", "object", "amount", "currency", "status", "capture_method", "installments",
    "payment_method_type", "three_d_secure", "next_action", "last_payment_error", "fraud",
    "return_url", "customer", "description", "metadata", "latest_attempt", "attempts",
    "line_items", "canceled_at", "cancellation_reason", "created", "livemode",
}  # fmt: skip
BREAKDOWN = {
    "surcharge", "amount_received", "amount_capturable", "captured_minor", "refunded_minor",
    "amount_refundable", "card",
}  # fmt: skip
AMOUNTS = BREAKDOWN - {"card"}
CARD = {
    "brand": "visa",
    "bin": "424242",
    "last4": "4242",
    "masked": "424242******4242",
    "exp_month": 12,
    "exp_year": 2040,
    "card_type": "credit",
    "domestic": False,
}


def test_a_new_payment_without_a_card(acme: ApiClient, bank: BankTransport) -> None:
    body = acme.post("/v1/payment_intents", {"amount": 12500, "currency": "TRY"}).body

    assert body.keys() == ALWAYS | BREAKDOWN
    assert (body["status"], body["card"]) == ("requires_payment_method", None)
    assert {body[name] for name in AMOUNTS} == {0}
    assert (body["currency"], body["payment_method_type"]) == ("try", "card")
    assert (body["latest_attempt"], body["attempts"], body["line_items"]) == (None, [], [])
    assert (body["installments"], body["capture_method"]) == (1, "automatic")
    assert (body["metadata"], body["livemode"]) == ({}, False)


def test_a_new_payment_with_a_card(acme: ApiClient, bank: BankTransport) -> None:
    body = acme.post("/v1/payment_intents", unconfirmed()).body

    assert body.keys() == ALWAYS | BREAKDOWN
    assert (body["status"], body["card"]) == ("requires_confirmation", CARD)
    assert body["three_d_secure"] == {"requested": "automatic", "effective": "automatic"}
    assert bank.seen == []


def test_a_charged_payment(acme: ApiClient, bank: BankTransport) -> None:
    body = acme.pay(description="Two glasses", metadata={"order": "7"}).body

    assert body.keys() == ALWAYS | BREAKDOWN | {"amount_charged"}
    assert body["amount_charged"] == body["captured_minor"] == body["amount_refundable"] == 12500
    assert (body["surcharge"], body["amount_capturable"], body["refunded_minor"]) == (0, 0, 0)
    assert (body["description"], body["metadata"]) == ("Two glasses", {"order": "7"})
    assert body["three_d_secure"] == {"requested": "automatic", "effective": "none"}
    assert body["attempts"] == [body["latest_attempt"]]
    assert body["card"] == CARD


def test_a_payment_that_waits_for_its_capture(acme: ApiClient, bank: BankTransport) -> None:
    body = acme.pay(capture_method="manual").body

    assert body.keys() == ALWAYS | BREAKDOWN
    assert (body["amount_capturable"], body["capture_method"]) == (12500, "manual")


@pytest.mark.parametrize("number", [DECLINED_CARD, SILENT_CARD])
def test_an_uncharged_payment_shows_the_card_and_zeros(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    body = acme.pay(number, return_url=RETURN_URL).body

    assert body.keys() == ALWAYS | BREAKDOWN
    assert {body[name] for name in AMOUNTS} == {0}
    assert body["card"]["last4"] == number[-4:]
    assert body["return_url"] == RETURN_URL


@pytest.mark.parametrize(
    ("number", "brand", "card_type", "domestic"),
    [
        ("9792030000000000", "troy", "credit", True),
        ("5528790000000008", "mastercard", "credit", True),
        ("4766620000000001", "visa", "debit", True),
        ("5400010000000004", "mastercard", "credit", False),
    ],
)
def test_a_card_shows_its_issuers_facts(
    number: str, brand: str, card_type: str, domestic: bool, acme: ApiClient, bank: BankTransport
) -> None:
    card = acme.post("/v1/payment_intents", unconfirmed(number))["card"]

    assert (card["brand"], card["card_type"], card["domestic"]) == (brand, card_type, domestic)
    assert card["masked"] == f"{number[:6]}******{number[-4:]}"


def test_what_the_payer_typed_is_not_returned(acme: ApiClient, bank: BankTransport) -> None:
    text = str(acme.pay(expand=["latest_attempt"]).body)

    assert [
        typed for typed in (GOOD_CARD, "Ayşe", "ayse@example.com", "İstiklal") if typed in text
    ] == []


def test_creating_answers_200_and_the_same_as_reading(acme: ApiClient, bank: BankTransport) -> None:
    created = acme.post("/v1/payment_intents", unconfirmed())

    read = acme.payment(created["id"])

    assert created.status == read.status == 200
    assert created.response.content == read.response.content


@pytest.mark.parametrize("number", [GOOD_CARD, DECLINED_CARD, SILENT_CARD, DEBIT_CARD])
def test_a_payment_is_read_as_it_was_answered_byte_for_byte(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    words = {"order": "7", "b": "1", "a": "2", "çay": "3", "x" * 40: "4"}
    created = acme.pay(number, return_url=RETURN_URL, metadata=words)

    read = acme.payment(created["id"])

    assert read.response.content == created.response.content
    assert read["metadata"] == words


def test_an_attempts_error_is_read_in_the_payments_order(
    acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.pay(DECLINED_CARD, expand=["latest_attempt"])

    read = acme.get(f"/v1/payment_intents/{created['id']}?expand[]=latest_attempt")

    assert read.response.content == created.response.content
    error = read["latest_attempt"]["error"]
    assert list(error) == list(read["last_payment_error"]) == [
        "type", "code", "decline_code", "reason", "message", "attempt", "network_decline_code",
        "advice_code",
    ]  # fmt: skip
