"""Payments with a surcharge, through the real doors and the real bank, into the ledger."""

from typing import Any

import pytest

from ledger.models import Movement
from payments.intents.models import Attempt
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import entries_of, price
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import confirmation, three_d_secure, unconfirmed
from tests.stage.plans import sell_installments
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import authenticate, challenged

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
CHARGED = "4000001100000017"


@pytest.fixture(autouse=True)
def _installments_are_for_sale(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    sell_installments(monkeypatch)
    price(acme.merchant)


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Any:
    yield
    status, said = audit()
    assert status == 0, said


def assert_booked(client: ApiClient, payment_id: str) -> None:
    """12000 and a surcharge of 600 were taken on one date (docs/explanation/ledger.md)."""
    attempt = Attempt.objects.get(intent_id=payment_id, status="succeeded")
    [movement] = Movement.objects.filter(charge_id=attempt.id)
    assert entries_of(movement) == {
        "acquirer": [-12600], "pending": [11675], "fees": [325], "surcharge": [600],
    }  # fmt: skip
    assert (movement.amount, movement.surcharge, movement.fee, movement.net) == (
        12000, 600, 325, 11675,
    )  # fmt: skip
    assert (attempt.fee, attempt.installments) == (325, 3)
    assert captured_by_bank(client) == 12600


def test_a_charge_shows_and_books_its_surcharge(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(amount=12000)

    assert (paid["amount"], paid["surcharge"], paid["installments"]) == (12000, 600, 3)
    assert (paid["amount_charged"], paid["amount_received"]) == (12600, 12000)
    assert paid["amount_refundable"] == 12600
    assert_booked(acme, paid["id"])


def test_a_capture_takes_the_surcharge_too(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(amount=12000, capture_method="manual")
    assert paid["amount_capturable"] == 12600

    done = acme.post(f"{PATH}/{paid['id']}/capture")

    assert (done["amount_charged"], done["amount_received"]) == (12600, 12000)
    assert_booked(acme, paid["id"])


def test_a_part_of_a_payment_in_installments_is_not_captured(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(amount=12000, capture_method="manual")

    answer = acme.post(f"{PATH}/{paid['id']}/capture", {"amount_to_capture": 12000})

    assert answer.refusal == (400, "partial_capture_not_allowed", "amount_to_capture")


def test_a_payment_that_is_confirmed_later_has_its_surcharge(
    acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post(PATH, unconfirmed(amount=12000))

    acme.post(f"{PATH}/{created['id']}/confirm", confirmation())

    assert_booked(acme, created["id"])


def test_a_payer_who_authenticates_pays_the_surcharge(acme: ApiClient, bank: BankTransport) -> None:
    begun = challenged(acme, amount=12000)

    authenticate(begun)

    assert_booked(acme, begun["id"])


def test_an_answer_that_comes_late_books_the_surcharge(
    acme: ApiClient, bank: BankTransport
) -> None:
    waiting = acme.pay(CHARGED, amount=12000)
    assert waiting["status"] == "processing"

    sweep_after(10)

    assert_booked(acme, waiting["id"])


def test_the_limit_without_authentication_counts_the_surcharge(
    acme: ApiClient, bank: BankTransport
) -> None:
    limit = 500_000

    answer = acme.pay(amount=limit, **three_d_secure("none"))

    assert answer.error["code"] == "non_secure_not_allowed"
