"""Customers: created, read, changed, and put on payments of their own merchant only."""

from typing import Any

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HOME = {
    "line1": "İstiklal Cd. 1", "line2": None, "city": "İstanbul", "state": None,
    "postal_code": "34433", "country": "TR",
}  # fmt: skip
EVERYTHING = {
    "email": "ali@example.com",
    "name": "Ali",
    "phone": "+90 212 000 00 01",
    "description": "Comes on Mondays",
    "address": HOME,
    "shipping": {"name": "Ali at work", "phone": None, "address": {**HOME, "line2": "Floor 3"}},
    "default_currency": "eur",
    "preferred_locales": ["tr-TR", "en"],
    "metadata": {"tier": "gold"},
}
EMPTY: dict[str, Any] = {
    **dict.fromkeys(EVERYTHING), "preferred_locales": [], "metadata": {},
}  # fmt: skip
AYSE = {"email": "ayse@example.com", "name": "Ayşe", "phone": "+90 212 000 00 00"}


def test_a_customer_is_created_and_read(acme: ApiClient) -> None:
    created = acme.post("/v1/customers", {**AYSE, "metadata": {"tier": "gold"}})

    assert created.status == 200
    assert created["id"].startswith("cus_")
    assert {name: created[name] for name in AYSE} == AYSE
    assert (created["object"], created["metadata"]) == ("customer", {"tier": "gold"})
    assert acme.get(f"/v1/customers/{created['id']}").body == created.body


def facts(answer: Answer) -> dict[str, Any]:
    return {name: answer[name] for name in EVERYTHING}


def test_a_customer_has_the_fields_of_the_contract(acme: ApiClient) -> None:
    created = acme.post("/v1/customers", EVERYTHING)

    assert created.body.keys() == {"id", "object", "created", "livemode", *EVERYTHING}
    assert facts(created) == EVERYTHING


def test_a_customer_needs_nothing(acme: ApiClient) -> None:
    assert facts(acme.post("/v1/customers")) == EMPTY
    assert facts(acme.post("/v1/customers", dict.fromkeys(EVERYTHING))) == EMPTY


def test_codes_are_taken_in_any_case(acme: ApiClient) -> None:
    body = {
        "address": {"country": "tr"},
        "default_currency": "EUR",
        "preferred_locales": ["TR-tr", "zh-hant-tw", "es-419"],
    }

    created = acme.post("/v1/customers", body)

    assert created["address"]["country"] == "TR"
    assert created["default_currency"] == "eur"
    assert created["preferred_locales"] == ["tr-TR", "zh-Hant-TW", "es-419"]


@pytest.mark.parametrize("nothing", [{}, {"city": None}, {"city": ""}])
def test_an_address_of_nothing_is_none(acme: ApiClient, nothing: dict) -> None:
    assert acme.post("/v1/customers", {"address": nothing})["address"] is None


# --- Changes ----------------------------------------------------------------------------------


@pytest.fixture
def ali(acme: ApiClient) -> Answer:
    return acme.post("/v1/customers", EVERYTHING)


def changed(acme: ApiClient, customer: Answer, changes: dict | bytes, **headers: str) -> Answer:
    answer = acme.post(f"/v1/customers/{customer['id']}", changes, **headers)
    assert answer.status == 200, answer.body
    assert acme.get(f"/v1/customers/{customer['id']}").body == answer.body
    return answer


def test_what_is_given_is_changed_and_the_rest_stays(acme: ApiClient, ali: Answer) -> None:
    answer = changed(acme, ali, {"name": "Ali Can", "preferred_locales": ["de"]})

    assert facts(answer) == {**EVERYTHING, "name": "Ali Can", "preferred_locales": ["de"]}


@pytest.mark.parametrize("name", EVERYTHING)
def test_null_clears_each_field(acme: ApiClient, ali: Answer, name: str) -> None:
    answer = changed(acme, ali, {name: None})

    assert facts(answer) == {**EVERYTHING, name: EMPTY[name]}


def test_a_form_clears_with_an_empty_value(acme: ApiClient, ali: Answer) -> None:
    body = b"address=&preferred_locales=&shipping[address][line2]="

    answer = changed(acme, ali, body, content_type="application/x-www-form-urlencoded")

    assert (answer["address"], answer["preferred_locales"]) == (None, [])
    assert answer["shipping"]["address"] == HOME


def test_of_an_address_only_what_is_given_changes(acme: ApiClient, ali: Answer) -> None:
    changes = {"address": {"city": None, "line2": "2nd floor"}, "shipping": {"phone": "1"}}

    answer = changed(acme, ali, changes)

    assert answer["address"] == {**HOME, "city": None, "line2": "2nd floor"}
    assert answer["shipping"] == {**EVERYTHING["shipping"], "phone": "1"}


def test_an_address_whose_last_value_is_cleared_is_none(acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"address": {"city": "İzmir"}})

    assert changed(acme, customer, {"address": {"city": None}})["address"] is None


def test_metadata_is_merged(acme: ApiClient, ali: Answer) -> None:
    merged = changed(acme, ali, {"metadata": {"tier": "", "since": "2026"}})

    assert merged["metadata"] == {"since": "2026"}
    assert changed(acme, ali, {"metadata": {}})["metadata"] == {}


@pytest.mark.parametrize("part", ["name", "address"])
def test_shipping_goes_to_somebody_and_somewhere(acme: ApiClient, ali: Answer, part: str) -> None:
    path, missing = f"/v1/customers/{ali['id']}", (400, "parameter_missing", f"shipping[{part}]")
    whole = EVERYTHING["shipping"]

    assert acme.post(path, {"shipping": {part: None}}, idempotency_key="k").refusal == missing
    answer = acme.post("/v1/customers", {"shipping": {**whole, part: None}})
    assert answer.refusal == missing
    assert acme.get(path).body == ali.body


# --- Events -----------------------------------------------------------------------------------


def test_a_change_is_told_with_what_was_before(acme: ApiClient, ali: Answer) -> None:
    changes = {"name": None, "address": {"city": "İzmir"}, "metadata": {"tier": "", "vip": "yes"}}
    answer = changed(acme, ali, changes)

    event = acme.events_of(ali["id"])[-1]

    assert (event["type"], event["sequence"]) == ("customer.updated", 2)
    assert event["data"]["object"] == answer.body
    assert event["data"]["previous_attributes"] == {
        "name": "Ali",
        "address": {"city": "İstanbul"},
        "metadata": {"tier": "gold", "vip": None},
    }


@pytest.mark.parametrize("changes", [{}, EVERYTHING, {"address": {}, "shipping": {}}])
def test_what_changes_nothing_tells_nothing(acme: ApiClient, ali: Answer, changes: dict) -> None:
    assert changed(acme, ali, changes).body == ali.body
    assert len(acme.events_of(ali["id"])) == 1


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
        # Letters that Python takes for an `i` and a `k` of other case.
        ({"email": "ays\u0131@example.com"}, "parameter_invalid", "email"),
        ({"email": "\u212aate@example.com"}, "parameter_invalid", "email"),
        ({"name": 4711}, "parameter_invalid", "name"),
        ({"nickname": "Ayşecik"}, "parameter_unknown", "nickname"),
        ({"phone": "4242 4242 4242 4242"}, "card_data_not_allowed", "phone"),
        ({"address": "İstiklal Cd. 1"}, "parameter_invalid", "address"),
        ({"address": {"street": "x"}}, "parameter_unknown", "address[street]"),
        ({"address": {"country": "Türkiye"}}, "parameter_invalid", "address[country]"),
        ({"address": {"country": "XX"}}, "parameter_invalid", "address[country]"),
        ({"address": {"country": "UK"}}, "parameter_invalid", "address[country]"),
        ({"address": {"country": "ıs"}}, "parameter_invalid", "address[country]"),
        ({"address": {"country": "ß"}}, "parameter_invalid", "address[country]"),
        ({"shipping": {"name": "A", "address": {"country": "EU"}}}, "parameter_invalid",
         "shipping[address][country]"),
        ({"address": {"line1": ["x"]}}, "parameter_invalid", "address[line1]"),
        ({"shipping": {"address": {"zip": "1"}}}, "parameter_unknown", "shipping[address][zip]"),
        ({"shipping": {"carrier": "x"}}, "parameter_unknown", "shipping[carrier]"),
        ({"shipping": {"name": "Ali"}}, "parameter_missing", "shipping[address]"),
        ({"default_currency": "xyz"}, "currency_not_supported", "default_currency"),
        ({"preferred_locales": "en"}, "parameter_invalid", "preferred_locales"),
        ({"preferred_locales": ["en", "tr_TR"]}, "parameter_invalid", "preferred_locales[1]"),
        ({"preferred_locales": ["en", "EN"]}, "parameter_invalid", "preferred_locales[1]"),
        ({"preferred_locales": [None]}, "parameter_invalid", "preferred_locales[0]"),
        ({"preferred_locales": ["en"] * 21}, "parameter_invalid", "preferred_locales"),
        ({"deleted": True}, "parameter_unknown", "deleted"),
        ({"expand": ["payments"]}, "parameter_invalid", "expand[]"),
    ],
)  # fmt: skip
def test_a_wrong_customer_is_refused(
    body: dict, code: str, param: str, acme: ApiClient, bank: BankTransport
) -> None:
    assert refused(acme, "/v1/customers", body, bank=bank).refusal == (400, code, param)
