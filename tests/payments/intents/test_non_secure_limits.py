"""Limits on payments without 3-D Secure: by payment, by day, by currency, by account."""

from typing import Any

import pytest

from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, payment, three_d_secure
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"


def limit(client: ApiClient, **values: Any) -> None:
    client.merchant.non_secure_limits.filter(currency="try").update(**values)


def test_above_the_limit_the_payer_must_authenticate(acme: ApiClient, bank: BankTransport) -> None:
    assert acme.pay(amount=500_000)["status"] == "succeeded"

    above = acme.pay(amount=500_001, return_url=RETURN_URL)

    assert above["status"] == "requires_action"


def test_above_the_limit_without_a_way_back_is_refused(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(amount=500_001)

    assert answer.refusal == (400, "parameter_missing", "return_url")
    assert PaymentIntent.objects.count() == 0


def test_none_above_the_limit_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    body = payment(amount=500_001, return_url=RETURN_URL, **three_d_secure("none"))

    answer = acme.post(PATH, body, idempotency_key="k")

    assert answer.refusal[:2] == (400, "non_secure_not_allowed")
    assert PaymentIntent.objects.count() == 0
    assert acme.post(PATH, {**body, "amount": 100}, idempotency_key="k").status == 200


def test_a_currency_without_a_limit_allows_none(acme: ApiClient, bank: BankTransport) -> None:
    acme.merchant.non_secure_limits.filter(currency="usd").delete()

    assert acme.pay(currency="usd", return_url=RETURN_URL)["status"] == "requires_action"


def test_an_account_that_may_not_at_all(acme: ApiClient, bank: BankTransport) -> None:
    type(acme.merchant).objects.update(non_secure_allowed=False)

    assert acme.pay(return_url=RETURN_URL)["status"] == "requires_action"
    assert acme.pay(**three_d_secure("none")).error["code"] == "non_secure_not_allowed"


def test_a_limit_per_day_counts_what_was_taken_today(acme: ApiClient, bank: BankTransport) -> None:
    limit(acme, per_day=30_000)
    acme.pay()
    acme.pay("4000000000000002")  # Declined: it took nothing.
    acme.pay()

    assert acme.pay(return_url=RETURN_URL)["status"] == "requires_action"
    sweep_after(86_400)
    assert acme.pay()["status"] == "succeeded"
