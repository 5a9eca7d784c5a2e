"""Customers: created, read, and put on payments of their own merchant only."""

import pytest

from tests.bank_transport import BankTransport
from tests.books import refused
from tests.client import ApiClient
from tests.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

AYSE = {"email": "ayse@example.com", "name": "Ayşe", "phone": "+90 212 000 00 00"}


def test_a_customer_is_created_and_read(acme: ApiClient) -> None:
    created = acme.post("/v1/customers", {**AYSE, "metadata": {"tier": "gold"}})

    assert created.status == 200
    assert created["id"].startswith("cus_")
    assert {name: created[name] for name in AYSE} == AYSE
    assert (created["object"], created["metadata"]) == ("customer", {"tier": "gold"})
    assert acme.get(f"/v1/customers/{created['id']}").body == created.body


def test_a_customer_needs_nothing(acme: ApiClient) -> None:
    assert acme.post("/v1/customers")["email"] is None


def test_a_new_customer_is_told(acme: ApiClient) -> None:
    created = acme.post("/v1/customers", AYSE)

    [event] = acme.events_of(created["id"])

    assert (event["type"], event["sequence"]) == ("customer.created", 1)
    assert event["data"] == {"object": created.body, "previous_attributes": {}}


def test_a_payment_shows_its_customer(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post("/v1/customers", AYSE).body

    paid = acme.pay(customer=customer["id"], expand=["customer"])

    assert paid["customer"] == customer
    assert acme.payment(paid["id"])["customer"] == customer["id"]


def test_another_merchants_customer_is_as_unknown_as_none(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    foreign = acme.post("/v1/customers", AYSE)["id"]

    for customer in (foreign, "cus_nobody", "x"):
        answer = refused(globex, "/v1/payment_intents", payment(customer=customer), bank=bank)
        assert answer.refusal == (404, "resource_missing", "customer")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"email": "ayse@"}, "parameter_invalid", "email"),
        ({"name": 4711}, "parameter_invalid", "name"),
        ({"nickname": "Ayşecik"}, "parameter_unknown", "nickname"),
        ({"phone": "4242 4242 4242 4242"}, "card_data_not_allowed", "phone"),
        ({"expand": ["payments"]}, "parameter_invalid", "expand[]"),
    ],
)
def test_a_wrong_customer_is_refused(
    body: dict, code: str, param: str, acme: ApiClient, bank: BankTransport
) -> None:
    assert refused(acme, "/v1/customers", body, bank=bank).refusal == (400, code, param)
