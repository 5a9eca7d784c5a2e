"""Confirming a payment: with a card given now, with the one stored, and after a decline."""

import pytest

from core.redis import client as redis
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank, refused
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import (
    DEBIT_CARD,
    DECLINED_CARD,
    GOOD_CARD,
    RETURN_URL,
    SILENT_CARD,
    confirmation,
    payment_method,
    three_d_secure,
    unconfirmed,
)

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

CVC = "payment_method_data[card][cvc]"


def create(client: ApiClient, number: str = GOOD_CARD, **changes: object) -> str:
    return client.post("/v1/payment_intents", unconfirmed(number, **changes))["id"]


def create_without_card(client: ApiClient, **changes: object) -> str:
    body = {"amount": 12500, "currency": "try", **changes}
    return client.post("/v1/payment_intents", body)["id"]


def confirm(client: ApiClient, payment_id: str, body: dict | None = None) -> Answer:
    return client.post(f"/v1/payment_intents/{payment_id}/confirm", body)


def test_a_stored_card_is_charged_on_confirm(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = create(acme)

    answer = confirm(acme, payment_id)

    assert (answer.status, answer["status"]) == (200, "succeeded")
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_the_cvc_is_held_until_the_confirm_and_read_once(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = create(acme)
    held = redis().keys("held:*")

    confirm(acme, payment_id)

    assert len(held) == 1
    assert redis().keys(held[0].decode()) == []


def test_a_stored_card_whose_cvc_is_gone_asks_for_it(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = create(acme)
    redis().flushdb()

    answer = refused(acme, f"/v1/payment_intents/{payment_id}/confirm", {}, bank=bank)

    assert answer.refusal == (400, "parameter_missing", CVC)
    assert confirm(acme, payment_id, confirmation())["status"] == "succeeded"


def test_a_card_given_at_confirm_replaces_the_stored_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = create(acme, DECLINED_CARD)

    answer = confirm(acme, payment_id, confirmation("5555555555554444"))

    assert (answer["status"], answer["card"]["last4"]) == ("succeeded", "4444")


def test_the_cvc_of_a_replaced_card_is_forgotten(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = create(acme)
    held = redis().keys("held:*")

    confirm(acme, payment_id, confirmation("5555555555554444"))

    assert redis().exists(*held) == 0


def test_a_payment_without_a_card_is_confirmed_with_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = confirm(acme, create_without_card(acme), confirmation())

    assert (answer["status"], answer["amount_charged"]) == ("succeeded", 12500)


def test_a_payment_without_a_card_cannot_be_confirmed_without_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    path = f"/v1/payment_intents/{create_without_card(acme)}/confirm"

    assert refused(acme, path, {}, bank=bank).refusal == (
        400, "parameter_missing", "payment_method_data",
    )  # fmt: skip


def test_declined_card_lets_the_payer_try_another(acme: ApiClient, bank: BankTransport) -> None:
    declined = acme.pay(DECLINED_CARD)

    answer = confirm(acme, declined["id"], confirmation())

    assert (answer["status"], answer["last_payment_error"]) == ("succeeded", None)
    assert answer["attempts"] == [declined["latest_attempt"], answer["latest_attempt"]]
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_a_second_decline_tells_its_own_reason(acme: ApiClient, bank: BankTransport) -> None:
    declined = acme.pay(DECLINED_CARD)

    answer = confirm(acme, declined["id"], confirmation("4000000000009995"))

    error = answer["last_payment_error"]
    assert (error["reason"], error["attempt"]) == ("insufficient_funds", answer["latest_attempt"])
    assert len(answer["attempts"]) == 2


def test_a_declined_card_is_dropped(acme: ApiClient, bank: BankTransport) -> None:
    path = f"/v1/payment_intents/{acme.pay(DECLINED_CARD)['id']}/confirm"

    assert refused(acme, path, {}, bank=bank).refusal == (
        400, "parameter_missing", "payment_method_data",
    )  # fmt: skip


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("number", "changes"),
    [(GOOD_CARD, {}), (GOOD_CARD, {"capture_method": "manual"}), (SILENT_CARD, {})],
    ids=["succeeded", "requires_capture", "processing"],
)
def test_a_payment_that_waits_for_no_card_is_not_confirmed_again(
    number: str, changes: dict, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(number, **changes)

    answer = refused(acme, f"/v1/payment_intents/{paid['id']}/confirm", confirmation(), bank=bank)

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert answer.error["payment_intent"] == paid.body


def test_the_way_back_may_come_with_the_confirm(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = create(acme, DEBIT_CARD)

    answer = confirm(acme, payment_id, {"return_url": RETURN_URL})

    assert (answer.status, answer["return_url"]) == (200, RETURN_URL)
    assert answer["status"] == "requires_action"


def test_a_debit_card_is_not_confirmed_without_a_way_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = create(acme, DEBIT_CARD)

    answer = refused(acme, f"/v1/payment_intents/{payment_id}/confirm", {}, bank=bank)

    assert answer.refusal == (400, "parameter_missing", "return_url")
    assert confirm(acme, payment_id, {"return_url": RETURN_URL}).status == 200


def test_the_options_of_the_create_hold_for_the_confirm(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = create(acme, return_url=RETURN_URL, **three_d_secure("required"))

    answer = confirm(acme, payment_id)

    assert answer["three_d_secure"] == {"requested": "required", "effective": "required"}


def test_the_options_of_the_confirm_win(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = create(acme, return_url=RETURN_URL, **three_d_secure("required"))

    answer = confirm(acme, payment_id, three_d_secure("automatic"))

    assert (answer["status"], answer["three_d_secure"]["effective"]) == ("succeeded", "none")


def test_a_stored_card_without_billing_details_asks_for_them(
    acme: ApiClient, bank: BankTransport
) -> None:
    method = {**payment_method(), "billing_details": None}
    payment_id = create(acme, payment_method_data=method)

    answer = refused(acme, f"/v1/payment_intents/{payment_id}/confirm", {}, bank=bank)

    param = "payment_method_data[billing_details][name]"
    assert answer.refusal == (400, "parameter_missing", param)


def test_a_confirm_may_expand(acme: ApiClient, bank: BankTransport) -> None:
    answer = confirm(acme, create(acme), {"expand": ["latest_attempt"]})

    assert answer["latest_attempt"]["status"] == "succeeded"


def test_a_refused_confirm_does_not_cost_the_payer_the_cvc(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = create(acme)
    path = f"/v1/payment_intents/{payment_id}/confirm"
    refused(acme, path, {"return_url": "https://elsewhere.example/"}, bank=bank)
    refused(acme, path, {**three_d_secure("required")}, bank=bank)

    assert confirm(acme, payment_id)["status"] == "succeeded"


def test_billing_details_may_come_with_the_confirm_of_a_stored_card(
    acme: ApiClient, bank: BankTransport
) -> None:
    method = payment_method()
    billing = method.pop("billing_details")
    payment_id = acme.post("/v1/payment_intents", unconfirmed(payment_method_data=method))["id"]

    answer = confirm(
        acme, payment_id, {"payment_method_data": {"type": "card", "billing_details": billing}}
    )

    assert (answer.status, answer["status"]) == (200, "succeeded")


def test_a_second_card_may_use_the_first_ones_billing_details(
    acme: ApiClient, bank: BankTransport
) -> None:
    declined = acme.pay(DECLINED_CARD)
    method = payment_method()
    del method["billing_details"]

    answer = confirm(acme, declined["id"], {"payment_method_data": method})

    assert answer["status"] == "succeeded"


def test_billing_details_alone_do_not_confirm_after_a_decline(
    acme: ApiClient, bank: BankTransport
) -> None:
    declined = acme.pay(DECLINED_CARD)
    path = f"/v1/payment_intents/{declined['id']}/confirm"

    answer = refused(acme, path, {"payment_method_data": {"type": "card"}}, bank=bank)

    assert answer.refusal == (400, "parameter_missing", "payment_method_data[card]")
