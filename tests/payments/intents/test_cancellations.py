"""Calling a payment off (contract 3, cancel)."""

from typing import Any

import pytest

from acquirers.conversation import settling
from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from core.redis import client as redis
from payments.bank import attempts, modifications
from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL, confirmation, unconfirmed
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.threeds import bring, challenged, decide

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
NOTHING_IS_RELEASED = "4000001100000074"
CHARGED, NEVER_KNOWN = "4000001100000017", "4000001100000058"
CREATE = {"amount": 12500, "currency": "try"}


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Any:
    yield
    status, said = audit()
    assert status == 0, said


def cancel(client: ApiClient, payment_id: str, reason: str | None = None, **headers: str) -> Answer:
    body = {"cancellation_reason": reason} if reason else {}
    return client.post(f"{PATH}/{payment_id}/cancel", body, **headers)


def authorized(client: ApiClient, number: str = "4242424242424242") -> str:
    return client.pay(number, capture_method="manual")["id"]


def test_a_payment_without_a_card_is_canceled(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, CREATE)["id"]

    answer = cancel(acme, payment_id, "requested_by_customer")

    assert (answer.status, answer["status"]) == (200, "canceled")
    assert answer["cancellation_reason"] == "requested_by_customer"
    assert answer["canceled_at"] >= answer["created"]
    assert acme.told(payment_id) == ["created", "canceled"]
    before = acme.events_of(payment_id)[-1]["data"]["previous_attributes"]
    assert before["status"] == "requires_payment_method"


def test_a_stored_cards_code_is_forgotten(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, unconfirmed())["id"]
    assert redis().keys("held:*")

    assert cancel(acme, payment_id)["status"] == "canceled"

    assert redis().keys("held:*") == []


def test_a_payer_at_the_bank_comes_back_to_a_canceled_payment(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields

    assert cancel(acme, paid["id"])["status"] == "canceled"

    arrival = bring(fields)
    assert (arrival.status, arrival.location) == (302, f"{RETURN_URL}?payment_intent={paid['id']}")
    assert acme.payment(paid["id"])["status"] == "canceled"
    assert len(bank_books.orders()) == 0
    assert acme.told(paid["id"]) == ["created", "requires_action", "canceled"]


def test_what_is_authorised_is_released_first(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)

    answer = cancel(acme, payment_id, "duplicate")

    assert (answer["status"], answer["amount_capturable"]) == ("canceled", 0)
    assert bank_books.order().state == "voided"
    assert Attempt.objects.get().status == "canceled"
    assert acme.told(payment_id)[-1] == "canceled"


def test_what_the_bank_does_not_release_is_not_canceled(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme, NOTHING_IS_RELEASED)

    answer = cancel(acme, payment_id, idempotency_key="k")

    assert answer.refusal == (400, "cancel_failed", None)
    assert answer.error["payment_intent"] == acme.payment(payment_id).body
    assert acme.payment(payment_id)["status"] == "requires_capture"
    assert cancel(acme, payment_id, idempotency_key="k").body == answer.body
    assert acme.post(f"{PATH}/{payment_id}/capture")["status"] == "succeeded"


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", ["lost", "cut_after", "delay", "garble"])
def test_without_an_answer_it_is_processing_until_the_bank_tells(
    fault: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    bank.fault = fault

    assert cancel(acme, payment_id, "abandoned")["status"] == "processing"
    bank.fault = None
    for _ in range(4):
        sweep_after(3700)

    ended = acme.payment(payment_id)
    assert ended["status"] == ("requires_capture" if fault == "lost" else "canceled")
    assert ended["cancellation_reason"] == (None if fault == "lost" else "abandoned")


def test_a_bank_that_was_not_reached_has_changed_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    bank.fault = "cut_before"

    assert cancel(acme, payment_id, idempotency_key="k").refusal[:2] == (
        503,
        "upstream_unavailable",
    )

    bank.fault = None
    assert cancel(acme, payment_id, idempotency_key="k")["status"] == "canceled"


@pytest.mark.parametrize("number", ["4242424242424242", NEVER_KNOWN])
def test_what_has_or_may_have_money_is_not_canceled(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(number)

    answer = cancel(acme, paid["id"])

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert acme.payment(paid["id"])["status"] == paid["status"]


def test_before_an_unknown_payment_is_canceled_the_bank_is_asked(
    acme: ApiClient, bank: BankTransport
) -> None:
    charged, unknown = acme.pay(CHARGED)["id"], acme.pay(CHARGED, capture_method="manual")["id"]

    assert cancel(acme, charged).error["payment_intent"]["status"] == "succeeded"
    assert cancel(acme, unknown)["status"] == "canceled"
    assert [one.state for one in bank_books.orders()].count("voided") == 1


def test_a_canceled_payment_stays_canceled(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, CREATE)["id"]
    cancel(acme, payment_id)

    for door, body in (("cancel", {}), ("confirm", confirmation()), ("capture", {})):
        answer = acme.post(f"{PATH}/{payment_id}/{door}", body)
        assert answer.refusal == (400, "payment_intent_unexpected_state", None)


def test_an_unknown_reason_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, CREATE)["id"]

    for reason in ("expired", "because", 1):
        answer = acme.post(f"{PATH}/{payment_id}/cancel", {"cancellation_reason": reason})
        assert answer.refusal == (400, "parameter_invalid", "cancellation_reason")


@pytest.mark.parametrize("afterwards", [False, True], ids=["before the bank", "after the bank"])
def test_a_cancellation_that_died_is_finished(
    afterwards: bool, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    with dies(modifications, "_order", afterwards=afterwards), pytest.raises(Died):
        cancel(acme, payment_id, idempotency_key="k")
    leases_run_out()

    # Nothing is sent again to a bank that repeats nothing: it is asked, and holds the money still.
    ended = "canceled" if afterwards or bank.repeats else "processing"
    assert cancel(acme, payment_id, idempotency_key="k")["status"] == ended
    assert acme.told(payment_id).count("canceled") == (ended == "canceled")


def test_a_charge_that_comes_after_all_is_given_back(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    attempt = Attempt.objects.get()
    cancel(acme, paid["id"])
    _the_bank_charges(attempt)

    settling.settle(attempts.KIND, attempt, Outcome(Says.APPROVED, authorization_code="A1B2C3"))
    sweep_after(0)

    attempt.refresh_from_db()
    assert attempt.modifications.get().status == "succeeded"
    assert bank_books.order().state == "voided"
    assert acme.payment(paid["id"])["status"] == "canceled"


def _the_bank_charges(attempt: Attempt) -> None:
    bank_books.charge(
        "4242424242424242", reference=attempt.acquirer_reference, merchant=attempt.merchant_id
    )
