"""3-D Secure: payers who do not come back, and confirming again while they are away."""

import pytest

from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, confirmation, payment, three_d_secure
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import authenticate, bring, challenged, decide, shown
from vault import cvc as vault_cvc

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"


# --- Payers who do not come back --------------------------------------------------------------


def test_after_an_hour_the_payer_has_abandoned_it(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    sweep_after(3500)
    assert shown(acme, paid)["status"] == "requires_action"
    sweep_after(200)

    failed = shown(acme, paid)
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["reason"] == "authentication_abandoned"
    assert Attempt.objects.get().status == "abandoned"
    assert acme.told(paid["id"]) == ["created", "requires_action", "payment_failed"]
    assert "/authorizations/" in bank.seen[-1]


def test_authenticated_and_never_back_authorises_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    decide(paid, "Approve")

    sweep_after(3700)

    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_abandoned"
    assert len(bank_books.orders()) == 0


def test_a_bank_that_is_away_keeps_the_payment_waiting(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    bank.fault = "delay"
    sweep_after(3700)
    assert shown(acme, paid)["status"] == "requires_action"

    bank.fault = None
    sweep_after(3700)
    assert shown(acme, paid)["status"] == "requires_payment_method"


# --- Confirming again -------------------------------------------------------------------------


def test_another_card_may_be_tried_while_the_payer_is_away(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(**three_d_secure("none")))

    assert answer["status"] == "succeeded"
    first, second = Attempt.objects.order_by("created_at")
    assert (first.status, second.status) == ("canceled", "succeeded")
    assert answer["attempts"] == [first.id, second.id]
    assert bring(fields).status == 302
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_the_payer_may_be_sent_to_the_bank_once_more(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(return_url=RETURN_URL))

    assert answer["status"] == "requires_action"
    assert answer["next_action"] != paid["next_action"]
    assert acme.told(paid["id"]) == ["created", "requires_action", "requires_action"]
    authenticate(answer)
    assert shown(acme, paid)["status"] == "succeeded"


def test_a_code_that_redis_did_not_forget_is_of_no_use_to_a_second_attempt(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Redis was away when it was to be dropped, or the process died between commit and drop.
    monkeypatch.setattr(vault_cvc, "drop", lambda _token: None)
    made = acme.post(PATH, payment(confirm=False))
    body = {"return_url": RETURN_URL, **three_d_secure("required")}
    confirm = f"{PATH}/{made['id']}/confirm"
    assert acme.post(confirm, body)["status"] == "requires_action"

    again = acme.post(confirm, body)

    assert again.refusal == (400, "parameter_missing", "payment_method_data[card][cvc]")
    assert [attempt.status for attempt in Attempt.objects.all()] == ["requires_action"]


def test_without_a_card_the_code_is_asked_for_again(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", {})

    assert answer.refusal == (400, "parameter_missing", "payment_method_data[card][cvc]")
    assert shown(acme, paid).body == paid.body


def test_a_bank_that_does_not_answer_makes_the_payment_processing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    bank.fault = "delay"

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(), idempotency_key="again")

    assert answer["status"] == "processing"
    assert Attempt.objects.count() == 1
