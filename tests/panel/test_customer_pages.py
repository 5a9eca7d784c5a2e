"""Customers in the panel: found, created, changed and deleted, by the API's own functions."""

from typing import Any

import pytest
from django.test import Client

from merchants.models import AuditEntry
from payments.customers.models import Customer
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, PaymentFactory
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHOLE = {
    "email": "Ayse@x.example", "name": "Ayşe Yılmaz", "phone": "+90 555", "description": "VIP",
    "default_currency": "try", "preferred_locales": "tr-tr, en", "address_line1": "Bir Sokak 1",
    "address_country": "TR", "shipping_name": "Ayşe", "shipping_address_city": "İzmir",
    "metadata": "order = 1001\r\n\r\nvip = yes = no",
}  # fmt: skip


@pytest.fixture
def support(acme: ApiClient) -> Client:
    return signed_in(person("sue@acme.example", (acme.merchant, "support")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}/customers", *parts])


def form_of(client: Client, url: str, **fields: Any) -> dict[str, Any]:
    """Return the page's form as a browser would send it, with other values."""
    page = client.get(url)
    form = page.context.get("form")
    shown = {one.html_name: one.value() or "" for one in form} if form else {}
    return {**shown, "token": page.context["token"], **fields}


def send(client: Client, url: str, **fields: Any) -> Any:
    return client.post(url, form_of(client, url, **fields))


def made(acme: ApiClient, **fields: Any) -> str:
    customer: str = acme.post("/v1/customers", fields).body["id"]
    return customer


def by_people(acme: ApiClient) -> list[AuditEntry]:
    rows = AuditEntry.objects.filter(merchant=acme.merchant, actor="user")
    return list(rows.order_by("sequence"))


def test_a_customer_is_created_as_the_api_would(support: Client, acme: ApiClient) -> None:
    answer = send(support, at(acme, "create"), **WHOLE)

    row = Customer.objects.get()
    assert (answer.status_code, answer.url) == (303, at(acme, row.id))
    body = acme.get(f"/v1/customers/{row.id}").body
    assert (body["email"], body["preferred_locales"]) == ("Ayse@x.example", ["tr-TR", "en"])
    assert (body["address"]["line1"], body["address"]["country"]) == ("Bir Sokak 1", "TR")
    assert (body["shipping"]["name"], body["shipping"]["address"]["city"]) == ("Ayşe", "İzmir")
    assert body["metadata"] == {"order": "1001", "vip": "yes = no"}
    assert [event["type"] for event in acme.events_of(row.id)] == ["customer.created"]


def test_the_audit_log_has_names_of_fields_and_nothing_about_people(
    support: Client, acme: ApiClient
) -> None:
    made(acme, email="by-key@x.example")
    send(support, at(acme, "create"), **WHOLE)
    row = Customer.objects.get(name="Ayşe Yılmaz")
    send(support, at(acme, row.id, "edit"), name="Ayşe Demir")
    send(support, at(acme, row.id, "delete"))

    rows = by_people(acme)
    assert [one.action for one in rows] == [
        "customer.created", "customer.updated", "customer.deleted",
    ]  # fmt: skip
    assert {one.subject for one in rows} == {row.id}
    assert rows[1].after == {"fields": ["name"]}
    assert "Ay" not in str([one.after for one in rows]).replace("default_currency", "")


def test_the_same_form_twice_makes_one(support: Client, acme: ApiClient) -> None:
    form = form_of(support, at(acme, "create"), name="Ayşe")

    first, again = (support.post(at(acme, "create"), form) for _ in range(2))
    other = support.post(at(acme, "create"), form | {"name": "Eve"})

    assert (first.status_code, again.url, other.status_code) == (303, first.url, 409)
    assert Customer.objects.count() == 1


def test_a_form_that_is_sent_unchanged_changes_nothing(support: Client, acme: ApiClient) -> None:
    send(support, at(acme, "create"), **WHOLE)
    row = Customer.objects.get()
    before = acme.get(f"/v1/customers/{row.id}").body

    answer = send(support, at(acme, row.id, "edit"))

    assert answer.status_code == 303
    assert acme.get(f"/v1/customers/{row.id}").body == before
    assert len(acme.events_of(row.id)) == 1


def test_an_address_of_before_its_rule_stays_while_others_change(
    support: Client, acme: ApiClient
) -> None:
    send(support, at(acme, "create"), **WHOLE)
    row = Customer.objects.get()
    row.email = "\u212aate@example.com"
    row.save()

    answer = send(support, at(acme, row.id, "edit"), name="Kate")

    row.refresh_from_db()
    assert (answer.status_code, row.name, row.email) == (303, "Kate", "\u212aate@example.com")


def test_what_is_emptied_is_cleared(support: Client, acme: ApiClient) -> None:
    send(support, at(acme, "create"), **WHOLE)
    row = Customer.objects.get()

    send(
        support, at(acme, row.id, "edit"), phone="", address_line1="", address_country="",
        metadata="vip = no", preferred_locales="",
    )  # fmt: skip

    body = acme.get(f"/v1/customers/{row.id}").body
    assert (body["phone"], body["address"], body["preferred_locales"]) == (None, None, [])
    assert body["metadata"] == {"vip": "no"}
    assert body["name"] == "Ayşe Yılmaz"


@pytest.mark.parametrize(
    ("field", "value", "at_input"),
    [
        ("email", "x", "email"), ("email", "a" * 255, "email"), ("name", "a" * 201, "name"),
        ("address_country", "XXX", "address_country"), ("phone", "5" * 41, "phone"),
        ("preferred_locales", "klingon!", "preferred_locales"),
        ("preferred_locales", "en, EN", "preferred_locales"),
        ("shipping_phone", "1", "shipping_name"), ("metadata", "x", "metadata"),
        ("metadata", "a = 1\na = 2", "metadata"), ("metadata", "[a] = 1", "metadata"),
        ("metadata", f"{'k' * 41} = 1", "metadata"), ("name", "a\x00b", "name"),
        ("default_currency", "xxx", "default_currency"),
    ],
)  # fmt: skip
def test_a_refusal_stands_at_its_input(
    support: Client, acme: ApiClient, field: str, value: str, at_input: str
) -> None:
    answer = send(support, at(acme, "create"), **{field: value})

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == [at_input]
    assert not Customer.objects.exists()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("field", ["name", "metadata", "description"])
def test_a_card_number_is_refused_and_not_repeated(
    support: Client, acme: ApiClient, field: str
) -> None:
    answer = send(support, at(acme, "create"), **{field: f"k = {GOOD_CARD}"})

    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()
    assert not Customer.objects.exists()


def test_deleting_says_first_what_is_forgotten(support: Client, acme: ApiClient) -> None:
    customer = made(acme, email="ayse@x.example", name="Ayşe")
    PaymentFactory(merchant=acme.merchant, customer_id=customer, description="Order 7")
    url = at(acme, customer, "delete")

    asked = support.get(url).content.decode()
    form = form_of(support, url)
    first, again = (support.post(url, form) for _ in range(2))

    assert "1 payment, with what the payer typed" in asked
    assert (first.status_code, again.url) == (303, first.url)
    page = support.get(at(acme, customer)).content.decode()
    assert "what was known is forgotten" in page
    assert "Order 7" in page
    assert "ayse@x.example" not in page
    assert support.get(at(acme, customer, "edit")).status_code == 404
    assert [one.action for one in by_people(acme)] == ["customer.deleted"]


def test_a_customer_deleted_while_the_form_is_open(support: Client, acme: ApiClient) -> None:
    customer = made(acme, name="Ayşe")
    form = form_of(support, at(acme, customer, "edit"), name="Eve")
    acme.delete(f"/v1/customers/{customer}")

    assert support.post(at(acme, customer, "edit"), form).status_code == 404
    assert Customer.objects.get().name is None


def test_the_list_is_the_apis(support: Client, acme: ApiClient, globex: ApiClient) -> None:
    made(globex, email="ayse@x.example")
    mine = [made(acme, email=f"p{number % 3}@x.example") for number in range(30)]

    first = support.get(at(acme)).context["page"].rows
    second = support.get(at(acme), {"starting_after": first[-1].id}).context["page"].rows
    found = support.get(at(acme), {"email": "P1@x.EXAMPLE"}).context["page"].rows

    listed = acme.get("/v1/customers?limit=100").body["data"]
    assert [row.id for row in [*first, *second]] == [one["id"] for one in listed]
    assert {row.id for row in found} == {*mine[1::3]}


@pytest.mark.parametrize(
    "query",
    [{"email": "a" * 501}, {"created_from": "x"}, {"starting_after": "cus_x"},
     {"starting_after": "a", "ending_before": "b"}, {"email": "4242424242424242"}],
)  # fmt: skip
def test_bad_filters_are_refused_in_words(
    support: Client, acme: ApiClient, query: dict[str, str]
) -> None:
    assert support.get(at(acme), query).status_code == 400


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("page", ["", "edit", "delete"])
@pytest.mark.parametrize("customer", ["foreign", "cus_x", "%00", "x"])
def test_another_merchants_customer_is_unknown(
    support: Client, acme: ApiClient, globex: ApiClient, page: str, customer: str
) -> None:
    theirs = made(globex, name="Eve")
    parts = [theirs if customer == "foreign" else customer, *([page] if page else [])]

    assert support.get(at(acme, *parts)).status_code == 404
    if page:
        assert support.post(at(acme, *parts), {"token": "x"}).status_code == 404
    assert Customer.objects.get(id=theirs).name == "Eve"


def test_a_developer_sees_and_changes_nothing(acme: ApiClient) -> None:
    customer = made(acme, name="Ayşe")
    developer = signed_in(person("dev@acme.example", (acme.merchant, "developer")))

    page = developer.get(at(acme, customer)).content.decode()

    assert "Ayşe" in page
    assert f"{customer}/edit" not in page
    assert developer.get(at(acme, customer, "edit")).status_code == 403
    assert developer.post(at(acme, customer, "delete"), {"token": "x"}).status_code == 403


def test_what_people_typed_is_shown_as_it_is(support: Client, acme: ApiClient) -> None:
    bad = '"><img src=x onerror=alert(1)>'
    customer = made(acme, name=bad, description=bad, metadata={"k": bad}, address={"line1": bad})

    for url in (at(acme), at(acme, customer), at(acme, customer, "edit"),
                at(acme, customer, "delete")):  # fmt: skip
        assert "<img src=x" not in support.get(url).content.decode()


def test_many_payments_cost_no_more_statements(
    support: Client, acme: ApiClient, django_assert_max_num_queries: Any
) -> None:
    customer = made(acme, name="Ayşe")
    for _ in range(30):
        PaymentFactory(merchant=acme.merchant, customer_id=customer)
    support.get(at(acme, customer))  # The first look of a minute is noted.

    with django_assert_max_num_queries(15):
        page = support.get(at(acme, customer))

    assert len(page.context["payments"]) == 25
