"""The main road: a payment is taken, shown, told and booked."""

import pytest

from tests.client import ApiClient
from tests.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def test_one_call_takes_a_payment(acme: ApiClient, bank: object) -> None:
    answer = acme.post("/v1/payment_intents", payment())

    assert answer.status == 200
    assert answer["status"] == "succeeded"
    assert (
        answer["amount_charged"] == answer["captured_minor"] == answer["amount_received"] == 12500
    )
    assert acme.get(f"/v1/payment_intents/{answer['id']}").body == answer.body
