"""Deleted customers: what is still known of them, and where they are missing (contract 2 to 4)."""

import pytest
from django.db import IntegrityError, transaction

from payments.customers.models import Customer
from tests.payments.customers.test_customers import EVERYTHING
from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CUSTOMERS = "/v1/customers"


@pytest.fixture
def ali(acme: ApiClient) -> Answer:
    """A customer with everything, deleted."""
    customer = acme.post(CUSTOMERS, EVERYTHING)
    assert acme.delete(f"{CUSTOMERS}/{customer['id']}").body == stub(customer)
    return customer


def stub(customer: Answer) -> dict:
    return {"id": customer["id"], "object": "customer", "deleted": True}


def test_a_deleted_customer_still_says_that_it_is(acme: ApiClient, ali: Answer) -> None:
    answer = acme.get(f"{CUSTOMERS}/{ali['id']}")

    assert (answer.status, answer.body) == (200, stub(ali))


def test_deleting_again_answers_the_same_and_tells_nothing(acme: ApiClient, ali: Answer) -> None:
    answer = acme.delete(f"{CUSTOMERS}/{ali['id']}", idempotency_key="k")

    assert (answer.status, answer.body) == (200, stub(ali))
    assert len(acme.events_of(ali["id"])) == 2


def test_the_event_is_the_last_that_tells_who_it_was(acme: ApiClient, ali: Answer) -> None:
    event = acme.events_of(ali["id"])[-1]

    assert (event["type"], event["sequence"]) == ("customer.deleted", 2)
    assert event["data"]["object"] == {**ali.body, "deleted": True}
    assert event["data"]["previous_attributes"] == {"deleted": None}


def test_nothing_of_a_deleted_customer_is_kept(acme: ApiClient, ali: Answer) -> None:
    kept = Customer.objects.filter(id=ali["id"]).values().get()

    empty = {name for name, value in kept.items() if not value}
    assert empty == {*EVERYTHING, "email_key"}
    assert kept.keys() - empty == {"id", "merchant_id", "created_at", "deleted_at"}


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("name", ["email", "address", "metadata", "preferred_locales"])
def test_the_database_keeps_nothing_of_a_deleted_customer(ali: Answer, name: str) -> None:
    key = {"email_key": EVERYTHING["email"]} if name == "email" else {}
    with pytest.raises(IntegrityError, match="a_deleted_customer_is_nobody"), transaction.atomic():
        Customer.objects.filter(id=ali["id"]).update(**{name: EVERYTHING[name]}, **key)


def test_a_deleted_customer_is_not_changed(acme: ApiClient, ali: Answer) -> None:
    path = f"{CUSTOMERS}/{ali['id']}"

    for _ in range(2):
        answer = acme.post(path, {"name": "Ali"}, idempotency_key="k")
        assert answer.refusal == (404, "resource_missing", None)
    assert acme.get(path).body == stub(ali)


def test_a_deleted_customer_is_no_parameter(
    acme: ApiClient, ali: Answer, bank: BankTransport
) -> None:
    missing = (404, "resource_missing", "customer")
    body = payment(customer=ali["id"])
    other = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try"})["id"]

    assert refused(acme, "/v1/payment_intents", body, bank=bank).refusal == missing
    answer = acme.post(f"/v1/payment_intents/{other}", {"customer": ali["id"]})
    assert answer.refusal == missing
    assert acme.get(f"/v1/payment_intents?customer={ali['id']}").refusal == missing


def test_lists_hide_a_deleted_customer(acme: ApiClient, ali: Answer) -> None:
    left = acme.post(CUSTOMERS, {"email": ali["email"]})["id"]

    for query in ("", f"?email={ali['email']}", "?created[gte]=1&include[]=total_count"):
        page = acme.get(CUSTOMERS + query).body
        assert [row["id"] for row in page["data"]] == [left]
        assert page.get("total_count", 1) == 1


@pytest.mark.parametrize("path", [f"{CUSTOMERS}?", "/v1/search?q=ada@example.com&"])
def test_a_deleted_customer_is_still_a_cursor(acme: ApiClient, path: str) -> None:
    old, middle, new = (acme.post(CUSTOMERS, {"email": "ada@example.com"})["id"] for _ in "123")
    acme.delete(f"{CUSTOMERS}/{middle}")

    after = acme.get(f"{path}starting_after={middle}")["data"]
    before = acme.get(f"{path}ending_before={middle}")["data"]

    assert [row["id"] for row in (*after, *before)] == [old, new]


def test_a_foreign_deleted_customer_is_no_cursor(globex: ApiClient, ali: Answer) -> None:
    answer = globex.get(f"{CUSTOMERS}?starting_after={ali['id']}")

    assert answer.refusal == (404, "resource_missing", "starting_after")


def test_search_finds_no_deleted_customer(acme: ApiClient, ali: Answer) -> None:
    for text in (ali["id"], ali["email"]):
        assert acme.get(f"/v1/search?q={text}")["data"] == []


def test_a_payment_keeps_its_deleted_customer(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post(CUSTOMERS, EVERYTHING)
    paid = acme.pay(customer=customer["id"])
    acme.delete(f"{CUSTOMERS}/{customer['id']}")

    assert acme.payment(paid["id"]).body == paid.body
    assert acme.get(f"/v1/search?q={customer['id']}")["data"] == [paid.body]
    whole = acme.get(f"/v1/payment_intents/{paid['id']}?expand[]=customer")
    assert whole["customer"] == stub(customer)
    described = acme.post(f"/v1/payment_intents/{paid['id']}", {"description": "Tea"})
    assert described.status == 200


def test_an_update_that_was_answered_is_replayed_after_the_deletion(acme: ApiClient) -> None:
    path = f"{CUSTOMERS}/{acme.post(CUSTOMERS)['id']}"
    first = acme.post(path, {"name": "Ali"}, idempotency_key="k")
    acme.delete(path)

    assert acme.post(path, {"name": "Ali"}, idempotency_key="k").body == first.body
