"""A foreign id is as unknown as a made-up one, at every address that takes an id (I11)."""

import re

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import Till
from tests.stage.books import row_counts
from tests.stage.checkouts import opened
from tests.stage.client import Answer, ApiClient
from tests.stage.complaints import Complaint
from tests.stage.factories import EndpointFactory, confirmation, unconfirmed
from tests.stage.notifier import Notifier
from tests.stage.topups import awaited
from tests.stage.transfers import pay_out, rich

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ARGUMENT = re.compile(r"<str:(\w+)>")
UNKNOWN = {
    "intent_id": "pi_unknown",
    "customer_id": "cus_unknown",
    "refund_id": "re_unknown",
    "event_id": "evt_unknown",
    "endpoint_id": "we_unknown",
    "log_id": "req_unknown",
    "dispute_id": "dp_unknown",
    "transaction_id": "txn_unknown",
    "payout_id": "po_unknown",
    "topup_id": "tu_unknown",
    "session_id": "cs_unknown",
}
# The objects that a refusal shows to their owner.
SHOWN = ("payment_intent", "refund", "dispute", "payout", "topup", "checkout_session")
BODIES = {"confirm": confirmation(), "update": {"metadata": {"tea": "1"}}}


def doors(patterns: list[URLPattern | URLResolver], start: str = "/") -> list[tuple[str, str, str]]:
    """Return method, address and action of everything below /v1 that takes an id."""
    found = []
    for pattern in patterns:
        address = start + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += doors(pattern.url_patterns, address)
        elif address.startswith("/v1/") and ARGUMENT.search(address):
            actions = pattern.callback.actions.items()
            found += [(method, address, action) for method, action in actions]
    return found


DOORS = doors(get_resolver().url_patterns)


@pytest.fixture
def ids(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> dict[str, str]:
    """An object of Acme's for every kind of id that an address takes."""
    dispute = Complaint(acme, notifier).opened().id
    created = acme.post("/v1/customers")
    customer, log = created["id"], created.headers["Request-Id"]
    payment = acme.post("/v1/payment_intents", unconfirmed(customer=customer))["id"]
    event = acme.events_of(payment)[0]["id"]
    return {
        "intent_id": payment,
        "refund_id": acme.refund(acme.pay()["id"], 100)["id"],
        "customer_id": customer,
        "event_id": event,
        "log_id": log,
        "transaction_id": Till(acme.merchant).topup(100).id,
        "endpoint_id": EndpointFactory(merchant=acme.merchant).id,
        "dispute_id": dispute,
        "payout_id": pay_out(rich(acme), 50)["id"],
        "topup_id": awaited(acme)["id"],
        "session_id": opened(acme)["id"],
    }


def call(
    client: ApiClient, door: tuple[str, str, str], given: dict[str, str], **headers: str
) -> Answer:
    method, address, action = door
    path = ARGUMENT.sub(lambda argument: given[argument[1]], address)
    if method == "post":
        return client.post(path, BODIES.get(action), **headers)
    reach = client.delete if method == "delete" else client.get
    return reach(path, **headers)


def without_request_id(answer: Answer) -> dict:
    return {**answer.error, "request_id": None}


def test_the_matrix_has_every_door() -> None:
    assert len(DOORS) >= 16
    assert {method for method, _address, _action in DOORS} == {"get", "post", "delete"}


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door[0]} {door[1]}")
def test_a_foreign_id_is_as_unknown_as_a_made_up_one(
    door: tuple[str, str, str], ids: dict[str, str], globex: ApiClient, acme: ApiClient
) -> None:
    before, rows = call(acme, ("get", "/v1/payment_intents/<str:intent_id>", ""), ids), row_counts()

    foreign, unknown = call(globex, door, ids), call(globex, door, UNKNOWN)

    assert foreign.refusal == (404, "resource_missing", None)
    assert without_request_id(foreign) == without_request_id(unknown)
    assert row_counts() == rows
    assert acme.payment(ids["intent_id"]).body == before.body


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door[0]} {door[1]}")
def test_the_owner_is_let_in(
    door: tuple[str, str, str], ids: dict[str, str], acme: ApiClient
) -> None:
    answer = call(acme, door, ids)

    # Its status may be wrong for this door; then the refusal shows it to its owner.
    shown = [answer.error.get(noun) for noun in SHOWN] if answer.status != 200 else []
    assert answer.status == 200 or {one["id"] for one in shown if one} <= {*ids.values()}
    assert answer.status == 200 or any(shown)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door[0]} {door[1]}")
def test_an_id_of_any_length_is_unknown(door: tuple[str, str, str], globex: ApiClient) -> None:
    endless = {name: f"{known}{'x' * 500}" for name, known in UNKNOWN.items()}

    answer = call(globex, door, endless, idempotency_key="k")

    assert answer.refusal == (404, "resource_missing", None)


def test_an_id_with_a_nul_is_unknown(acme: ApiClient, bank: BankTransport) -> None:
    """PostgreSQL's driver refuses a NUL in any statement, as in that of a key's claim."""
    odd, answers = dict.fromkeys(UNKNOWN, "x%00"), {}

    for door in DOORS:
        for headers in ({}, {"idempotency_key": "k"}):
            answers[*door, *headers] = call(acme, door, odd, **headers).refusal
    enabled = acme.post("/v1/webhook_endpoints/we_%00", {"disabled": False})

    assert len(answers) == 2 * len(DOORS) >= 32, "nothing tried"
    wrong = {one: said for one, said in answers.items() if said != (404, "resource_missing", None)}
    assert wrong == {}
    assert enabled.refusal == (404, "resource_missing", None)
