"""The audit names a checkout session that does not agree with its payment."""

from typing import Any

import pytest

from audit import checkouts
from audit.queries import look
from payments.checkout.models import CheckoutSession
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.factories import confirmation

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def named() -> dict[str, list[str]]:
    found = {name: look(name, *queries) for name, queries in checkouts.QUERIES.items()}
    assert sum(one.looked_at for one in found.values()) > 0
    return {name: one.differences for name, one in found.items() if one.differences}


def paid(acme: ApiClient) -> Any:
    made = opened(acme)
    acme.post(f"/v1/payment_intents/{made['payment_intent']}/confirm", confirmation())
    return made


def test_sessions_that_agree_are_not_named(acme: ApiClient, bank: BankTransport) -> None:
    opened(acme), paid(acme)

    assert named() == {}


def test_an_open_session_of_a_paid_payment_is_named(acme: ApiClient, bank: BankTransport) -> None:
    made = paid(acme)
    with past_guards():
        CheckoutSession.objects.update(status="open", ended_at=None, customer_details=None)

    [[sentence]] = named().values()

    assert sentence.startswith(f"session {made['id']} is open, and its payment")


def test_an_open_session_that_its_payment_does_not_follow_is_named(acme: ApiClient) -> None:
    made = opened(acme)
    PaymentIntent.objects.update(checkout_session=None)

    [[sentence]] = named().values()

    assert sentence.endswith("is requires_payment_method and follows session -")
    assert made["id"] in sentence


def test_a_complete_session_that_nobody_paid_is_named(acme: ApiClient) -> None:
    made = opened(acme)
    CheckoutSession.objects.update(
        status="complete", ended_at="2026-11-01T00:00Z", customer_details={"name": "x"}
    )

    assert [made["id"] in one for [one] in named().values()] == [True]
