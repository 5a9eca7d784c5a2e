"""Parameters: JSON's own types within their ranges, null, metadata, currencies."""

from typing import Any

import pytest

from tests.stage.client import ApiClient
from tests.stage.factories import payment, payment_method
from tests.stage.refusals import assert_envelope, assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CANARY = "canary-Zq81"


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ('"12500"', "parameter_invalid"),
        ("12500.0", "parameter_invalid"),
        ("1e4", "parameter_invalid"),
        ("1E400", "parameter_invalid"),
        ("true", "parameter_invalid"),
        ("[1]", "parameter_invalid"),
        ("{}", "parameter_invalid"),
        ('""', "parameter_invalid"),
        ("null", "parameter_missing"),
        ("-1", "amount_too_small"),
        ("-0", "amount_too_small"),
        ("0", "amount_too_small"),
        ("1000000000000", "amount_too_large"),
        (str(2**63), "amount_too_large"),
        (str(-(2**63) - 1), "amount_too_small"),
        ("1" + "0" * 99, "amount_too_large"),
    ],
)
def test_an_amount_is_a_json_integer_in_its_range(acme: ApiClient, literal: str, code: str) -> None:
    body = b'{"currency": "try", "amount": ' + literal.encode() + b"}"

    answer = acme.post("/v1/payment_intents", body)

    assert answer.refusal == (400, code, "amount")
    assert_nothing_stored()


@pytest.mark.parametrize("amount", [1, 999_999_999_999])
def test_the_ends_of_the_range_are_amounts(acme: ApiClient, amount: int) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": amount, "currency": "try"})

    assert answer["amount"] == amount


def test_null_equals_leaving_an_optional_parameter_out(acme: ApiClient) -> None:
    optional = dict.fromkeys(
        ("confirm", "customer", "description", "installments", "line_items", "metadata",
         "payment_method_data", "payment_method_options", "return_url", "surcharge")
    )  # fmt: skip

    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try", **optional})

    assert answer.status == 200
    assert (answer["metadata"], answer["description"]) == ({}, None)


def test_null_clears_on_an_update(acme: ApiClient) -> None:
    body = {"amount": 1, "currency": "try", "description": "d", "metadata": {"a": "b"}}
    path = f"/v1/payment_intents/{acme.post('/v1/payment_intents', body)['id']}"

    answer = acme.post(path, {"description": None, "metadata": None})

    assert (answer["metadata"], answer["description"]) == ({}, None)


@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({str(n): "v" for n in range(51)}, "metadata"),
        ({"k" * 41: "v"}, f"metadata[{'k' * 41}]"),
        ({"": "v"}, "metadata[]"),
        ({"non_field_errors": 1}, "metadata[non_field_errors]"),
        ({"a[b": "v"}, "metadata[a[b]"),
        ({"a]": "v"}, "metadata[a]]"),
        ({"a": "v" * 501}, "metadata[a]"),
        ({"a": 1}, "metadata[a]"),
        ({"a": True}, "metadata[a]"),
        ({"a": ["v"]}, "metadata[a]"),
        ({"a": {"b": "v"}}, "metadata[a]"),
        ([], "metadata"),
        ("text", "metadata"),
        (1, "metadata"),
    ],
)
def test_metadata_that_breaks_a_rule_is_refused(acme: ApiClient, metadata: Any, param: str) -> None:
    answer = acme.post("/v1/customers", {"metadata": metadata})

    assert answer.refusal == (400, "parameter_invalid", param)
    assert_nothing_stored()


def test_metadata_up_to_its_limits_comes_back_as_it_was(acme: ApiClient) -> None:
    metadata = {f"{n:02}{'k' * 38}": "ş" * 500 for n in range(50)}

    assert acme.post("/v1/customers", {"metadata": metadata})["metadata"] == metadata


def test_an_empty_metadata_value_deletes_and_an_empty_map_clears(acme: ApiClient) -> None:
    created = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try",
                                               "metadata": {"a": "1", "b": "2"}})  # fmt: skip
    path = f"/v1/payment_intents/{created['id']}"

    assert acme.post(path, {"metadata": {"a": "", "c": "3"}})["metadata"] == {"b": "2", "c": "3"}
    assert acme.post(path, {"metadata": {}})["metadata"] == {}


@pytest.mark.parametrize("currency", ["try", "TRY", "Usd", "eUR", "gbp"])
def test_a_currency_is_taken_in_any_case_and_shown_in_lower(acme: ApiClient, currency: str) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": currency})

    assert answer["currency"] == currency.lower()


@pytest.mark.parametrize(
    ("currency", "code"),
    [
        ("jpy", "currency_not_supported"),
        ("try ", "currency_not_supported"),
        ("", "currency_not_supported"),
        ("ＴＲＹ", "currency_not_supported"),
        ("TR\u0130", "currency_not_supported"),
        (949, "parameter_invalid"),
        (["try"], "parameter_invalid"),
        (True, "parameter_invalid"),
        (None, "parameter_missing"),
    ],
)
def test_another_currency_is_refused(acme: ApiClient, currency: Any, code: str) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": currency})

    assert answer.refusal == (400, code, "currency")


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "body",
    [
        {"amount": CANARY, "currency": "try"},
        {"amount": 1, "currency": CANARY},
        {"amount": 1, "currency": "try", "capture_method": CANARY},
        {"amount": 1, "currency": "try", "confirm": CANARY},
        {"amount": 1, "currency": "try", "customer": CANARY},
        {"amount": 1, "currency": "try", "return_url": f"https://{CANARY}.example/"},
        {"amount": 1, "currency": "try", "line_items": CANARY},
        {"amount": 1, "currency": "try", "line_items": [CANARY]},
        {"amount": 1, "currency": "try", "metadata": CANARY},
        {"amount": 1, "currency": "try", "metadata": {"a": [CANARY]}},
        {"amount": 1, "currency": "try", "installments": CANARY},
        {"amount": 1, "currency": "try", "payment_method_options": CANARY},
        {"amount": 1, "currency": "try", "payment_method_options": {"card": CANARY}},
        {"amount": 1, "currency": "try", "expand": [CANARY]},
        {"amount": 1, "currency": "try", "expand": CANARY},
        {"amount": 1, "currency": "try", "payment_method_data": {"type": CANARY}},
        payment(CANARY),
        payment(payment_method_data=payment_method(cvc=CANARY)),
        payment(payment_method_data=payment_method(exp_month=CANARY)),
        payment(payment_method_data={**payment_method(), "billing_details": {"email": CANARY}}),
        payment(payment_method_data={"type": "card", "card": CANARY}),
        f'{{"amount": 1, "currency": {CANARY}'.encode(),
    ],
)  # fmt: skip
def test_no_refusal_repeats_a_value(acme: ApiClient, body: Any) -> None:
    answer = acme.post("/v1/payment_intents", body)

    assert answer.status in (400, 404)
    assert CANARY not in str(answer.body)
    assert_envelope(answer)


@pytest.mark.parametrize("expand", [0, False, "", {}, {"a": 1}, [1], [None], 1])
def test_expand_is_an_array_of_names(acme: ApiClient, expand: Any) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try", "expand": expand})

    assert answer.refusal == (400, "parameter_invalid", "expand")
    assert_nothing_stored()
