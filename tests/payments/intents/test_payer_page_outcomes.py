"""The payer's pages after each outcome of a payment: their words, and their headers."""

import pytest

from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.payer import Page
from tests.stage.sweeper import sweep_after
from tests.stage.threads import together
from tests.stage.threeds import (
    authenticate,
    bring,
    challenged,
    decide,
    hand_off,
    open_page,
    return_to,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

APPROVED, WAITING = "This payment is approved", "Your bank has not answered yet"
FAILED = "This payment did not go through"


def assert_says(payment: Answer, sentence: str) -> None:
    page = hand_off(payment)
    assert (page.status, page.forms) == (200, [])
    assert sentence in page.text
    assert f"{RETURN_URL}?payment_intent={payment['id']}" in page.assets
    assert "no-store" in page.headers["Cache-Control"]


@pytest.mark.parametrize("capture_method", ["automatic", "manual"])
def test_a_payment_that_the_bank_approved(
    capture_method: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme, capture_method=capture_method)
    authenticate(paid)

    assert_says(paid, APPROVED)


def test_a_payment_that_the_bank_is_silent_about(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    bank.fault = "delay"
    bring(fields)
    bank.fault = None

    assert_says(paid, WAITING)
    sweep_after(60)
    assert_says(paid, APPROVED)


@pytest.mark.parametrize("decision", ["Reject", "Cancel"])
def test_a_payment_that_the_payer_did_not_confirm(
    decision: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    authenticate(paid, decision)

    assert_says(paid, FAILED)


def test_a_payment_that_was_abandoned(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    sweep_after(3700)

    assert_says(paid, FAILED)


def test_a_payment_that_the_merchant_canceled(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    acme.post(f"/v1/payment_intents/{paid['id']}/cancel")

    assert_says(paid, FAILED)


# --- How they are sent ------------------------------------------------------------------------


def refused_answer(fields: dict[str, str]) -> Page:
    arrival = bring({**fields, "amount": "1"})
    return Page(arrival.status, {}, arrival.text.encode())


def test_no_page_tells_others_its_address(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    waiting, unknown, get = hand_off(paid), open_page("/3ds/att_x.y"), open_page(return_to(paid))
    authenticate(paid)

    for page in (waiting, unknown, get, hand_off(paid)):
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert "no-store" in page.headers["Cache-Control"]


def test_every_page_of_a_sandbox_says_that_it_is_one(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    pages = [hand_off(paid), open_page("/3ds/att_x.y")]
    fields = decide(paid, "Approve").fields
    pages.append(refused_answer(fields))
    bring(fields)

    for page in [*pages, hand_off(paid)]:
        assert "No real money moves here." in page.text


def test_a_refused_answer_is_a_page_with_a_reference(acme: ApiClient, bank: BankTransport) -> None:
    page = refused_answer(decide(challenged(acme), "Approve").fields)

    assert page.status == 400
    assert "This answer is not right" in page.text
    assert "req_" in page.text
    assert len(bank_books.orders()) == 0


def test_a_get_of_the_way_back_is_a_page() -> None:
    page = open_page("/3ds/att_x.y/return")

    assert (page.status, page.headers["Allow"]) == (405, "POST")
    assert "Go back to the shop" in page.text


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_payer_who_presses_twice_reaches_the_shop_when_the_payment_is_decided(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    bank.pause_seconds = 0.3

    def arrive() -> str:
        bring(fields)
        return acme.twin().payment(paid["id"])["status"]

    assert together([arrive, arrive]) == ["succeeded", "succeeded"]
