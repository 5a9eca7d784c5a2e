"""A card's security code is taken in one place, and shown and kept nowhere (contract 3)."""

from typing import Any

import pytest

from tests.bank_transport import BankTransport
from tests.client import ApiClient
from tests.factories import payment, payment_method
from tests.refusals import assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CVC = "937"
PAYMENTS, CUSTOMERS = "/v1/payment_intents", "/v1/customers"

NAMES = [
    "cvc", "CVC2", "cvv", "Cvv2", "CVN", "cv2", "cvd", "cid", "csc", "c_v_c", "c-v-v", "ｃｖｃ",
    "c\u200bvc", "card_cvc", "cardCvv", "cvcCode", "cvv_number", "customer_cvc", "billingCVV2",
    "securityCode", "security_code", "SECURITY CODE", "card_security_code", "cardSecurityCode",
    "verification_value", "card_verification_value", "cardVerificationNumber", "verification_code",
    "card_code", "cardCode", "x_card_code", "cc_cid", "card[security_code]", "card.cid",
    "guvenlik_kodu", "Güvenlik Kodu", "kart_guvenlik_kodu",
]  # fmt: skip
HONEST_NAMES = [
    "acid", "decided", "incident", "cidr", "placid", "oracid", "client_id", "cv", "cv_version",
    "cvc_check", "cvv_result", "recv_count", "recvCount", "discard", "csv", "code", "card_id",
    "country_code", "postal_code", "gift_card_code", "discount_code", "product_code", "barcode",
    "security", "security_level", "verification", "verification_status", "verified_value",
    "pi_0VbcB44wYzaCvC2mQ8dR5tLcvc", "sku_a1cvc", "ölçü", "数量",
]  # fmt: skip


# --- In a body --------------------------------------------------------------------------------


def elsewhere(name: str) -> list[tuple[dict[str, Any], str]]:
    """Return bodies with the name in a place where no code belongs, and the place."""
    return [
        ({"metadata": {name: CVC}}, f"metadata[{name}]"),
        ({name: int(CVC)}, name),
        ({"unknown": [{"a": {name: [CVC]}}]}, f"unknown[0][a][{name}]"),
        (
            {"payment_method_data": {**payment_method(), name: CVC}},
            f"payment_method_data[{name}]",
        ),
        (
            {"payment_method_data": {**payment_method(), "billing_details": {name: CVC}}},
            f"payment_method_data[billing_details][{name}]",
        ),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_like_a_security_code_is_refused(acme: ApiClient, name: str) -> None:
    for body, param in elsewhere(name):
        answer = acme.post(PAYMENTS, payment(**body), idempotency_key="k")

        assert answer.refusal == (400, "card_data_not_allowed", param)
        assert CVC not in answer.response.content.decode()
    assert_nothing_stored()


def test_a_customer_keeps_no_security_code(acme: ApiClient) -> None:
    created = acme.post(CUSTOMERS, {"metadata": {"cvc": CVC}})

    assert created.refusal == (400, "card_data_not_allowed", "metadata[cvc]")
    assert "payment_method_data[card]" in created.error["message"]
    assert_nothing_stored()


@pytest.mark.parametrize("name", HONEST_NAMES)
def test_an_honest_name_is_taken(acme: ApiClient, name: str) -> None:
    created = acme.post(CUSTOMERS, {"metadata": {name: CVC}})

    assert created["metadata"] == {name: CVC}


@pytest.mark.parametrize("nothing", [None, ""])
def test_taking_a_name_away_needs_no_code(acme: ApiClient, nothing: str | None) -> None:
    assert acme.post(CUSTOMERS, {"metadata": {"cvc": nothing}}).status == 200


def test_the_card_itself_says_which_parameter_it_does_not_know(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.post(PAYMENTS, payment(payment_method_data=payment_method(cvv=CVC)))

    assert answer.refusal == (400, "parameter_unknown", "payment_method_data[card][cvv]")
