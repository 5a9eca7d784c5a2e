"""`expand[]` through objects within objects and over pages, a query per field (contract 7)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock, ids
from core.rest import expansion, resources
from merchants import keys
from payments.charging.views import PaymentIntentViewSet
from payments.customers.models import Customer
from payments.intents.models import Attempt, LineItem, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import AttemptFactory, PaymentFactory, line, sealed_card

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"
WRONG = (400, "parameter_invalid", "expand[]")
# Everything at once: two fields of them share their beginning, and are fetched once there.
EVERY_FIELD = (
    "data.customer",
    "line_items",
    "attempts.payment_intent",
    "data.latest_attempt.payment_intent.customer",
    "latest_attempt.payment_intent.latest_attempt.payment_intent",
)
QUERIES = 9


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> Answer:
    customer = acme.post("/v1/customers", {"email": "ayse@example.com"})["id"]
    return acme.pay(customer=customer, line_items=[line(12500)])


def expanded(client: ApiClient, path: str, *fields: str) -> Answer:
    sign = "&" if "?" in path else "?"
    answer = client.get(path + sign + "&".join(f"expand[]={field}" for field in fields))
    assert answer.status == 200, answer.body
    return answer


# --- Depth ------------------------------------------------------------------------------------


def test_what_is_expanded_is_expanded_again(acme: ApiClient, paid: Answer) -> None:
    path, field = f"{PAYMENTS}/{paid['id']}", "latest_attempt.payment_intent.customer"

    payment = expanded(acme, path, field)["latest_attempt"]["payment_intent"]

    assert payment["customer"]["email"] == "ayse@example.com"
    assert {**payment, "customer": paid["customer"]} == paid.body


def test_four_levels_are_expanded_and_five_are_not(acme: ApiClient, paid: Answer) -> None:
    path, around = f"{PAYMENTS}/{paid['id']}", "latest_attempt.payment_intent"

    fourth = expanded(acme, path, f"{around}.{around}")["latest_attempt"]["payment_intent"]
    fifth = acme.get(f"{path}?expand[]={around}.{around}.customer")

    assert fourth["latest_attempt"]["payment_intent"] == paid.body
    assert fifth.refusal == WRONG


def test_fields_that_begin_alike_are_both_expanded(acme: ApiClient, paid: Answer) -> None:
    around = "latest_attempt.payment_intent"
    fields = ("latest_attempt", f"{around}.customer", f"{around}.line_items", "attempts")

    answer = expanded(acme, f"{PAYMENTS}/{paid['id']}", *fields)

    payment = answer["latest_attempt"]["payment_intent"]
    assert payment["customer"]["id"] == paid["customer"]
    assert [item["id"] for item in payment["line_items"]] == paid["line_items"]
    assert [one["payment_intent"] for one in answer["attempts"]] == [paid["id"]]
    assert answer["customer"] == paid["customer"]


@pytest.mark.parametrize(
    "field",
    [
        "latest_attempt.attempts", "customer.payments", "payment_intent", "latest_attempt.",
        ".latest_attempt", "latest_attempt..payment_intent", "data.customer", "attempts[0]",
        "attempts.0", "Customer", "customer ", "attempts.payment_intent.line_items", "." * 1000,
        "latest_attempt.payment_intent." * 300,
    ],
)  # fmt: skip
def test_what_is_no_field_is_refused(acme: ApiClient, paid: Answer, field: str) -> None:
    body = {"amount": 1, "currency": "try", "expand": [field]}

    assert acme.get(f"{PAYMENTS}/{paid['id']}?expand[]={field}").refusal == WRONG
    assert acme.post(PAYMENTS, body).refusal == WRONG
    assert PaymentIntent.objects.count() == 1


def test_a_thousand_times_is_once_and_more_is_refused(acme: ApiClient, paid: Answer) -> None:
    path, field = f"{PAYMENTS}/{paid['id']}", "latest_attempt.payment_intent"

    with CaptureQueriesContext(connection) as statements:
        once = expanded(acme, path, field)
    with CaptureQueriesContext(connection) as repeated:
        answer = expanded(acme, path, *[field] * 1000)

    assert answer.body == once.body
    assert len(repeated) == len(statements)
    assert acme.get(f"{path}?{'&'.join(['expand[]=customer'] * 1001)}").refusal[:2] == WRONG[:2]


def test_what_a_field_shows_needs_its_scope_at_any_depth(acme: ApiClient, paid: Answer) -> None:
    _key, secret = keys.create(acme.merchant, name="No people", scopes={"customers": "none"})
    blind, field = acme.twin(secret), "latest_attempt.payment_intent.customer"

    for path in (f"{PAYMENTS}/{paid['id']}?", f"{PAYMENTS}?", f"/v1/search?q={paid['id']}&"):
        refused = blind.get(f"{path}expand[]={field}")
        assert refused.refusal == (403, "permission_denied", None)
        assert blind.get(f"{path}expand[]=latest_attempt.payment_intent").status == 200


def test_an_id_of_another_merchants_stays_an_id(
    acme: ApiClient, globex: ApiClient, paid: Answer
) -> None:
    theirs = globex.pay()["latest_attempt"]
    PaymentIntent.objects.filter(id=paid["id"]).update(attempt_ids=[*paid["attempts"], theirs])

    answer = expanded(acme, f"{PAYMENTS}/{paid['id']}", "attempts", "latest_attempt")

    assert [answer["attempts"][0]["id"], answer["attempts"][1]] == [paid["attempts"][0], theirs]
    assert answer["latest_attempt"] == theirs


def test_events_stay_collapsed(acme: ApiClient, paid: Answer) -> None:
    changed = acme.pay(customer=paid["customer"], expand=["customer", "attempts"])

    for event in acme.events_of(changed["id"]):
        assert event["data"]["object"]["customer"] == paid["customer"]


def test_every_field_that_is_named_as_expandable_is_expanded(acme: ApiClient, paid: Answer) -> None:
    fields = resources.expandable(*PaymentIntentViewSet.shows)

    for field in fields:
        value: Any = expanded(acme, f"{PAYMENTS}/{paid['id']}", field).body
        for name in field.split("."):
            value = value[name][0] if isinstance(value[name], list) else value[name]
            assert isinstance(value, dict), field

    print(f"{len(fields)} fields expanded")  # noqa: T201
    assert len(fields) == 15


# --- Pages ------------------------------------------------------------------------------------


def payments(client: ApiClient, count: int) -> None:
    """Payments with a customer, two attempts and two lines each, past the API."""
    merchant, now, card = client.merchant, clock.now(), sealed_card(client.merchant)
    made: dict[type, list[Any]] = {Customer: [], PaymentIntent: [], Attempt: [], LineItem: []}
    for _ in range(count):
        customer = Customer(id=ids.new("cus"), merchant=merchant, created_at=now)
        intent = PaymentFactory.build(merchant=merchant, customer=customer, sealed_card=card)
        attempts = [_failed_attempt(intent) for _ in range(2)]
        items = [_item(intent, position) for position in range(2)]
        intent.attempt_ids = [attempt.id for attempt in attempts]
        intent.line_item_ids = [item.id for item in items]
        for row in (customer, intent, *attempts, *items):
            made[type(row)].append(row)
    for model, rows in made.items():
        model.objects.bulk_create(rows)


def _failed_attempt(intent: PaymentIntent) -> Attempt:
    return AttemptFactory.build(
        intent=intent,
        merchant=intent.merchant,
        sealed_card=intent.sealed_card,
        status="failed",
        closed_at=intent.created_at,
    )


def _item(intent: PaymentIntent, position: int) -> LineItem:
    amounts = {"quantity": 1, "unit_amount": 6250, "amount": 6250}
    return LineItem(
        id=ids.new("li"),
        merchant=intent.merchant,
        intent=intent,
        position=position,
        name="Tea glass",
        currency="try",
        tax_amount=0,
        discount_amount=0,
        created_at=intent.created_at,
        **amounts,
    )


def statements_of(client: ApiClient, limit: int, *fields: str) -> int:
    with CaptureQueriesContext(connection) as statements:
        page = expanded(client, f"{PAYMENTS}?limit={limit}", *fields)
    assert len(page["data"]) == limit
    return len(statements)


def test_a_page_is_expanded_by_a_query_per_field_however_many_rows_it_has(acme: ApiClient) -> None:
    payments(acme, 100)
    statements_of(acme, 1)  # Notes when the key was last used.

    plain, few, many = (
        statements_of(acme, 1),
        statements_of(acme, 1, *EVERY_FIELD),
        statements_of(acme, 100, *EVERY_FIELD),
    )

    print(f"pages: {plain} statements, expanded {few} for 1 row, {many} for 100")  # noqa: T201
    assert few == many == plain + QUERIES


def test_a_query_per_row_would_be_seen(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    real = expansion._wholes

    def one_by_one(kind: Any, wanted: set[str], merchant: Any) -> dict[str, Any]:
        return {k: v for one in wanted for k, v in real(kind, {one}, merchant).items()}

    monkeypatch.setattr(expansion, "_wholes", one_by_one)
    payments(acme, 5)

    assert statements_of(acme, 5, "customer") > statements_of(acme, 1, "customer") + 3


def test_each_row_of_a_page_has_its_own_objects(acme: ApiClient) -> None:
    payments(acme, 3)

    page = expanded(acme, f"{PAYMENTS}?limit=3", *EVERY_FIELD)

    assert len(page["data"]) == 3
    for row in page["data"]:
        path = f"{PAYMENTS}/{row['id']}"
        fields = [field.removeprefix("data.") for field in EVERY_FIELD]
        assert expanded(acme, path, *fields).body == row


@pytest.mark.parametrize("field", ["data.customer", "customer"])
def test_a_list_takes_a_field_with_and_without_data(
    acme: ApiClient, paid: Answer, field: str
) -> None:
    [row] = expanded(acme, PAYMENTS, field)["data"]

    assert row["customer"]["email"] == "ayse@example.com"


@pytest.mark.parametrize("field", ["data", "data.", "data.data.customer", "has_more", "data.card"])
def test_a_list_has_no_other_fields(acme: ApiClient, field: str) -> None:
    assert acme.get(f"{PAYMENTS}?expand[]={field}").refusal == WRONG
    assert acme.get(f"/v1/customers?expand[]={field}").refusal == WRONG


def test_search_expands_what_has_the_field(acme: ApiClient, paid: Answer) -> None:
    found = expanded(acme, "/v1/search?q=ayse@example.com", "data.customer", "latest_attempt")

    customer = acme.get(f"/v1/customers/{paid['customer']}").body
    payment, shown = found["data"]
    assert (payment["customer"], shown) == (customer, customer)
    assert payment["latest_attempt"]["id"] == paid["latest_attempt"]
