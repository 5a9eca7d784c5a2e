"""A card's security code is taken in one place, and shown and kept nowhere (contract 3)."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.books import logged, without_ids
from tests.stage.client import ApiClient
from tests.stage.factories import payment, payment_method
from tests.stage.refusals import assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CVC = "937"
PAYMENTS, CUSTOMERS = "/v1/payment_intents", "/v1/customers"

NAMES = [
    "cvc", "CVC2", "cvv", "Cvv2", "CVN", "cv2", "CCV", "cvd", "cid", "csc", "CVC/CVV", "c_v_c",
    "c-v-v", "ｃｖｃ", "c\u200bvc", "card_cvc", "cardCvv", "cvcCode", "cvv_number", "customer_cvc",
    "billingCVV2",
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


PLACES = {
    "": lambda codes: codes,
    "metadata": lambda codes: {"metadata": codes},
    "unknown[0][a]": lambda codes: {"unknown": [{"a": codes}]},
    "payment_method_data": lambda codes: {"payment_method_data": {**payment_method(), **codes}},
    "payment_method_data[billing_details]": lambda codes: {
        "payment_method_data": {**payment_method(), "billing_details": codes}
    },
}


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_like_a_security_code_is_refused(acme: ApiClient, name: str) -> None:
    answer = acme.post(CUSTOMERS, {"metadata": {name: CVC}}, idempotency_key="k")

    assert answer.refusal == (400, "card_data_not_allowed", f"metadata[{name}]")
    assert "payment_method_data[card]" in answer.error["message"]
    assert CVC not in without_ids(answer.response.content.decode())
    assert_nothing_stored()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("code", [CVC, int(CVC), [CVC], {"a": CVC}])
@pytest.mark.parametrize("place", PLACES)
def test_no_place_but_the_card_takes_one(acme: ApiClient, place: str, code: Any) -> None:
    body = payment(**PLACES[place]({"cvc": code}))

    answer = acme.post(PAYMENTS, body, idempotency_key="k")

    assert answer.refusal == (400, "card_data_not_allowed", f"{place}[cvc]" if place else "cvc")
    assert_nothing_stored()


def test_honest_names_are_taken(acme: ApiClient) -> None:
    given = dict.fromkeys(HONEST_NAMES, CVC)

    assert acme.post(CUSTOMERS, {"metadata": given})["metadata"] == given


@pytest.mark.parametrize("nothing", [None, ""])
def test_taking_a_name_away_needs_no_code(acme: ApiClient, nothing: str | None) -> None:
    assert acme.post(CUSTOMERS, {"metadata": {"cvc": nothing}}).status == 200


def test_the_card_itself_says_which_parameter_it_does_not_know(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.post(PAYMENTS, payment(payment_method_data=payment_method(cvv=CVC)))

    assert answer.refusal == (400, "parameter_unknown", "payment_method_data[card][cvv]")


# --- In the request log -----------------------------------------------------------------------


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("place", PLACES)
def test_the_log_leaves_codes_out_with_their_names(acme: ApiClient, place: str) -> None:
    body = payment(**PLACES[place](dict.fromkeys(NAMES, CVC)))

    shown = logged(acme.post(PAYMENTS, body)).request_body

    assert CVC not in without_ids(shown)
    assert [name for name in NAMES if json.dumps(name, ensure_ascii=False) in shown] == []
    assert '"amount":12500' in shown


def test_the_log_shows_honest_names(acme: ApiClient) -> None:
    given = {name: CVC for name in HONEST_NAMES if "cv" not in name.lower()}

    row = logged(acme.post(CUSTOMERS, {"metadata": given}))

    assert json.loads(row.request_body) == {"metadata": given}


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "method",
    [
        CVC, int(CVC), [CVC], {"code": CVC}, {"a": {"b": [int(CVC)]}}, {"type": CVC}, {CVC: "x"},
        {"card": {"exp_month": CVC, "exp_year": CVC}}, {"card": {"exp_month": {"a": CVC}}},
        {"card": {"exp_month": 937, "exp_year": 937}}, {"card": {"exp_year": "1937"}},
        {"card": {"bin": CVC, "last4": CVC, "masked": CVC}}, {"card": {CVC: "x", "９３７": "y"}},
        {"card": {"name": f"code {CVC}"}}, {"cards": [{"code": CVC}]},
        {"billing_details": [], "x": CVC},
        {"card": {"billing_details": {"name": CVC}}}, {"card": {"a": {"b": {f"is {CVC}": 1}}}},
    ],
    ids=str,
)  # fmt: skip
def test_nothing_that_may_be_a_code_is_shown_of_a_payment_method(
    acme: ApiClient, method: Any
) -> None:
    answer = acme.post(PAYMENTS, {"amount": 12500, "payment_method_data": method})

    row = logged(answer)
    assert answer.status == 400
    assert CVC not in without_ids(f"{row.request_body} {row.response_body}")
    assert '"amount":12500' in row.request_body


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "body",
    [
        {"Card": {"code": CVC}}, {"cards": [{"code": CVC}]}, {"card": [{"code": CVC}]},
        {"cards": {"1": {"code": CVC}}}, {"creditCard": {"code": CVC}}, {"card_data": {"x": CVC}},
        {"payment_card": {"a": [CVC]}}, {"card": {CVC: "x"}}, {"cards": CVC},
        {"payment_method_data[code]": CVC}, {"card[x]": CVC}, {"source[cards][0]": CVC},
    ],
    ids=str,
)  # fmt: skip
def test_nothing_that_may_be_a_code_is_shown_of_a_card(
    acme: ApiClient, body: dict[str, Any]
) -> None:
    row = logged(acme.post(CUSTOMERS, body))

    assert CVC not in without_ids(row.request_body + row.response_body)


def test_expiry_type_and_billing_details_are_shown(acme: ApiClient, bank: BankTransport) -> None:
    method = payment_method(exp_month=7, exp_year=2041)
    method["billing_details"]["address"]["postal_code"] = CVC
    method["billing_details"]["phone"] = CVC

    shown = json.loads(logged(acme.pay(payment_method_data=method)).request_body)

    assert shown["payment_method_data"]["type"] == "card"
    assert shown["payment_method_data"]["billing_details"] == method["billing_details"]
    assert shown["payment_method_data"]["card"] == {
        "number": "424242******4242", "exp_month": 7, "exp_year": 2041,
    }  # fmt: skip


CODES_IN_TEXTS = [
    "<cvc>937</cvc>", "<securityCode>937</securityCode>", "cvc%3D937", "cvc%253D937", "cvc 937",
    "cvc=９３７", "cardCvc: 937", "the CVV2 is 937", "cvc code: 937", "security code 937",
    "verification_value=937", "CVN:937", "ccv 937", "cid=937", "card[code]=937",
    '{\\"cvc\\":\\"937\\"}', json.dumps({"a": json.dumps({"cvc": CVC})}),
    json.dumps({"a": json.dumps({"b": json.dumps({"security_code": CVC})})}),
    "güvenlik kodu: 937", "payment_method_data[card][937]",
]  # fmt: skip
OTHER_NUMBERS = [
    "order 937", "acid 937", "decided: 937", "code 937", "postal code: 34000", "cvc: 123456",
    "incident=937", "937 items in the cart", "gift card 937", "line_items[937]",
]  # fmt: skip


def test_codes_that_are_named_in_texts_are_hidden(acme: ApiClient) -> None:
    texts = {f"k{n}": f"paid, {text}" for n, text in enumerate(CODES_IN_TEXTS)}

    in_body = logged(acme.post(CUSTOMERS, {"metadata": texts})).request_body
    in_query = logged(acme.get(f"/v1/events?{urlencode(texts)}")).query

    shown = json.loads(in_body)["metadata"]
    assert [text for name, text in texts.items() if CVC in shown[name]] == []
    assert {text[:5] for text in shown.values()} == {"paid,"}
    assert CVC not in in_query


def test_other_numbers_in_texts_stay(acme: ApiClient) -> None:
    texts = {f"k{n}": text for n, text in enumerate(OTHER_NUMBERS)}

    row = logged(acme.post(CUSTOMERS, {"metadata": texts}))

    assert json.loads(row.request_body) == {"metadata": texts}
