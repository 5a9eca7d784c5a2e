"""`expand[]`: whole objects in the place of ids (spec: Expandable fields)."""

from typing import Any

import pytest

from merchants import keys
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, confirmation, line, payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FIELDS = ("attempts", "customer", "latest_attempt", "line_items")
ATTEMPT = {
    "id", "object", "payment_intent", "status", "amount", "surcharge", "amount_charged",
    "currency", "installments", "capture_method", "payment_method_type", "card",
    "three_d_secure", "risk", "error", "authorization_code", "network_reference", "reversed_at",
    "created", "livemode",
}  # fmt: skip


def test_all_four_fields_expand_together(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post("/v1/customers")["id"]
    paid = acme.pay(customer=customer, line_items=[line(12500)])
    query = "&".join(f"expand[]={field}" for field in FIELDS)

    expanded = acme.get(f"/v1/payment_intents/{paid['id']}?{query}")

    assert expanded["customer"]["object"] == "customer"
    assert [item["object"] for item in expanded["line_items"]] == ["line_item"]
    assert expanded["attempts"] == [expanded["latest_attempt"]]
    rest = {name: value for name, value in paid.body.items() if name not in FIELDS}
    assert {name: expanded[name] for name in rest} == rest


def test_an_attempt_has_the_fields_of_the_contract(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(expand=["latest_attempt"])

    attempt = paid["latest_attempt"]
    assert attempt.keys() == ATTEMPT
    assert (attempt["object"], attempt["status"]) == ("payment_attempt", "succeeded")
    assert (attempt["payment_intent"], attempt["amount_charged"]) == (paid["id"], 12500)
    assert attempt["card"] == paid["card"]
    assert attempt["authorization_code"]
    assert attempt["network_reference"]


def test_attempts_are_expanded_oldest_first(acme: ApiClient, bank: BankTransport) -> None:
    declined = acme.pay(DECLINED_CARD)
    acme.post(f"/v1/payment_intents/{declined['id']}/confirm", confirmation())

    attempts = acme.get(f"/v1/payment_intents/{declined['id']}?expand[]=attempts")["attempts"]

    assert [attempt["status"] for attempt in attempts] == ["failed", "succeeded"]
    assert attempts[0]["error"] == declined["last_payment_error"]
    assert attempts[1]["error"] is None


@pytest.mark.parametrize(
    ("number", "changes", "status"),
    [
        ("4242424242424242", {"capture_method": "manual"}, "authorized"),
        ("4000001100000025", {}, "processing"),
        (DECLINED_CARD, {}, "failed"),
    ],
)
def test_an_attempt_has_a_status_of_its_own(
    number: str, changes: dict, status: str, acme: ApiClient, bank: BankTransport
) -> None:
    attempt = acme.pay(number, expand=["latest_attempt"], **changes)["latest_attempt"]

    assert (attempt["status"], attempt["amount_charged"]) == (status, 0)


def test_nothing_to_expand_stays_empty(acme: ApiClient, bank: BankTransport) -> None:
    body = {"amount": 1, "currency": "try", "expand": list(FIELDS)}

    answer = acme.post("/v1/payment_intents", body)

    assert (answer["customer"], answer["latest_attempt"]) == (None, None)
    assert (answer["attempts"], answer["line_items"]) == ([], [])


@pytest.mark.parametrize("spelling", ["expand[]", "expand[0]", "expand"])
def test_the_array_may_be_spelled_three_ways(
    spelling: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay()

    answer = acme.get(f"/v1/payment_intents/{paid['id']}?{spelling}=latest_attempt")

    assert answer["latest_attempt"]["id"] == paid["latest_attempt"]


def test_expansion_in_the_query_of_a_post_holds_too(acme: ApiClient, bank: BankTransport) -> None:
    answer = acme.post("/v1/payment_intents?expand[]=latest_attempt", payment())

    assert answer["latest_attempt"]["object"] == "payment_attempt"


@pytest.mark.parametrize("field", ["merchant", "card", "latest_attempt.card", ""])
def test_an_unknown_field_is_refused(field: str, acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    answer = acme.get(f"/v1/payment_intents/{paid['id']}?expand[]={field}")

    assert answer.refusal == (400, "parameter_invalid", "expand[]")


@pytest.mark.parametrize("fields", [["customer"], [], None])
def test_a_body_that_has_nothing_to_expand_says_so(acme: ApiClient, fields: Any) -> None:
    answer = acme.post("/v1/customers", {"expand": fields})

    assert answer.refusal == (400, "parameter_invalid", "expand[]")


def test_expanding_the_customer_needs_its_scope(acme: ApiClient, bank: BankTransport) -> None:
    customer_id = acme.post("/v1/customers", {"email": "ada@example.com"})["id"]
    payment_id = acme.pay(customer=customer_id)["id"]
    _key, secret = keys.create(acme.merchant, name="No people", scopes={"customers": "none"})
    blind = acme.twin(secret)

    assert blind.payment(payment_id)["customer"] == customer_id
    refused = blind.get(f"/v1/payment_intents/{payment_id}?expand[]=customer")
    assert refused.refusal == (403, "permission_denied", None)


@pytest.mark.parametrize("path", ["balance", "merchant", "events"])
def test_what_has_nothing_to_expand_says_so(acme: ApiClient, path: str) -> None:
    answer = acme.get(f"/v1/{path}?expand[]=customer")

    assert answer.refusal == (400, "parameter_invalid", "expand[]")
