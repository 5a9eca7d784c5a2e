"""A card number is accepted in one place of a body only (contract 3)."""

from typing import Any

import pytest

from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, payment, payment_method
from tests.stage.refusals import assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = GOOD_CARD


WRITTEN = {
    "plain": CARD,
    "spaces": "4242 4242 4242 4242",
    "dashes": "4242-4242-4242-4242",
    "in a sentence": f"card {CARD}, thanks",
    "full-width digits": "４２４２４２４２４２４２４２４２",
    "Arabic digits": "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢",
    "zero-width space": "42424242\u200b42424242",
    "commas": "4242,4242,4242,4242",
    "four spaces": "4242    4242    4242    4242",
    "arrows": "4242 → 4242 → 4242 → 4242",
    "a list": '["4242", "4242", "4242", "4242"]',
    "encoded": "%34242424242424242",
    "encoded four times": "4242%2525252042424242%252525204242",
}
MASK = "424242******4242"


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize(
    ("place", "param"),
    [
        (lambda pan: {"description": pan}, "description"),
        (lambda pan: {"metadata": {"order": pan}}, "metadata[order]"),
        (lambda pan: {"metadata": {"order": [pan]}}, "metadata[order][0]"),
        (lambda pan: {"return_url": f"https://acme.example/?a={pan}"}, "return_url"),
        (lambda pan: {"customer": pan}, "customer"),
        (lambda pan: {"unknown": {"a": [[pan]]}}, "unknown[a][0][0]"),
        (
            lambda pan: {"payment_method_data": payment_method(holder_name=pan)},
            "payment_method_data[card][holder_name]",
        ),
        (
            lambda pan: {"payment_method_data": payment_method(cvc=pan)},
            "payment_method_data[card][cvc]",
        ),
        (
            lambda pan: {"payment_method_data": {**payment_method(), "number": pan}},
            "payment_method_data[number]",
        ),
    ],
)
def test_a_card_number_outside_its_field_is_refused(
    acme: ApiClient, place: Any, param: str, how: str
) -> None:
    answer = acme.post("/v1/payment_intents", payment(**place(WRITTEN[how])), idempotency_key="k")

    assert answer.refusal == (400, "card_data_not_allowed", param)
    assert CARD not in answer.response.content.decode()
    assert_nothing_stored()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("literal", [CARD, f"{CARD}.0", "4.242424242424242e15", f"-{CARD}"])
@pytest.mark.parametrize("name", ["amount", "unknown"])
def test_a_card_number_as_a_number_is_refused(acme: ApiClient, literal: str, name: str) -> None:
    answer = acme.post("/v1/payment_intents", f'{{"{name}": {literal}}}'.encode())

    assert answer.refusal == (400, "card_data_not_allowed", name)
    assert CARD not in str(answer.body)


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({CARD: "x"}, MASK),
        ({"metadata": {CARD: "x"}}, f"metadata[{MASK}]"),
        ({"metadata": {"4242 4242 4242 4242": "x"}}, "metadata[424242******4242]"),
        ({"metadata": {CARD: {"inner": "x"}}}, f"metadata[{MASK}]"),
        (
            {"payment_method_data": {"card": {CARD: "x"}}},
            f"payment_method_data[card][{MASK}]",
        ),
    ],
)
def test_a_name_that_is_a_card_number_is_masked(
    acme: ApiClient, body: dict[str, Any], param: str
) -> None:
    answer = acme.post("/v1/payment_intents", body)

    assert answer.refusal == (400, "card_data_not_allowed", param)
    assert_nothing_stored()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "key",
    [CARD, "4242-4242-4242-4242", f"order {CARD}", "4242, 4242, 4242, 4242", "%34242424242424242"],
)
def test_a_card_number_as_idempotency_key_is_refused(acme: ApiClient, key: str) -> None:
    answer = acme.post("/v1/payment_intents", payment(), idempotency_key=key)

    assert answer.refusal == (400, "idempotency_key_invalid", "Idempotency-Key")
    assert_nothing_stored()
