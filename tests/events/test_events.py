"""Events: one per change, in order, frozen, in the transaction of their change (contract 8)."""

import pytest

from events import outbox
from events.models import Event
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, RETURN_URL, SILENT_CARD, confirmation, unconfirmed

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FIELDS = {
    "id", "object", "type", "created", "merchant_id", "api_version", "livemode",
    "aggregate_type", "aggregate_id", "sequence", "request_id", "data",
}  # fmt: skip
FIRST_CHARGE = {
    "amount_charged": None,
    "amount_received": 0,
    "captured_minor": 0,
    "amount_refundable": 0,
    "status": "requires_confirmation",
    "three_d_secure": {"effective": "automatic"},
    "fraud": None,
    "latest_attempt": None,
    "attempts": [],
}


def refuse(_event: Event) -> None:
    raise RuntimeError("the subscriber failed")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Subscribe to events; return those that the subscriber was given."""
    told: list[Event] = []
    monkeypatch.setattr(outbox, "SUBSCRIBERS", {"told": told.append})
    return told


@pytest.mark.parametrize(
    ("number", "changes", "second"),
    [
        ("4242424242424242", {}, "succeeded"),
        ("4242424242424242", {"capture_method": "manual"}, "amount_capturable_updated"),
        (DECLINED_CARD, {}, "payment_failed"),
        ("4100000000000019", {}, "payment_failed"),
        ("4766620000000001", {"return_url": RETURN_URL}, "requires_action"),
        ("4151111111111112", {"return_url": RETURN_URL}, "payment_failed"),
        (SILENT_CARD, {}, "processing"),
        ("4000001100000033", {}, "processing"),
    ],
)
def test_a_payment_tells_two_events(
    number: str, changes: dict, second: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(number, **changes)

    created, after = acme.events_of(paid["id"])

    assert (created["type"], created["sequence"]) == ("payment_intent.created", 1)
    assert (after["type"], after["sequence"]) == (f"payment_intent.{second}", 2)
    assert after["data"]["object"] == paid.body


def test_an_event_has_the_fields_of_the_specification(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    event = acme.events_of(paid["id"])[1]

    assert event.keys() == FIELDS
    assert event["data"].keys() == {"object", "previous_attributes"}
    assert (event["id"][:4], event["object"], event["livemode"]) == ("evt_", "event", False)
    assert (event["merchant_id"], event["api_version"]) == (acme.merchant.id, "2026-11-01")
    assert (event["aggregate_type"], event["aggregate_id"]) == ("payment_intent", paid["id"])
    assert event["request_id"] == paid.headers["Request-Id"]


def test_the_created_event_shows_the_payment_before_its_confirmation(
    acme: ApiClient, bank: BankTransport
) -> None:
    data = acme.events_of(acme.pay()["id"])[0]["data"]

    assert data["previous_attributes"] == {}
    assert data["object"]["status"] == "requires_confirmation"
    assert (data["object"]["latest_attempt"], data["object"]["attempts"]) == (None, [])
    assert "amount_charged" not in data["object"]


def test_a_charge_tells_exactly_what_it_changed(acme: ApiClient, bank: BankTransport) -> None:
    event = acme.events_of(acme.pay()["id"])[1]

    assert event["data"]["previous_attributes"] == FIRST_CHARGE


def test_an_event_shows_ids_even_when_the_answer_was_expanded(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(expand=["latest_attempt"])

    event = acme.events_of(paid["id"])[1]

    assert event["data"]["object"]["latest_attempt"] == paid["latest_attempt"]["id"]


def test_retries_count_on_without_a_gap(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.pay(DECLINED_CARD)["id"]
    for number in (DECLINED_CARD, "4242424242424242"):
        acme.post(f"/v1/payment_intents/{payment_id}/confirm", confirmation(number))

    events = acme.events_of(payment_id)

    assert [event["sequence"] for event in events] == [1, 2, 3, 4]
    assert [event["type"].partition(".")[2] for event in events] == [
        "created", "payment_failed", "payment_failed", "succeeded",
    ]  # fmt: skip


def test_a_second_decline_tells_only_its_differences(acme: ApiClient, bank: BankTransport) -> None:
    declined = acme.pay(DECLINED_CARD)
    path = f"/v1/payment_intents/{declined['id']}/confirm"

    answer = acme.post(path, confirmation(DECLINED_CARD))

    previous = acme.events_of(declined["id"])[-1]["data"]["previous_attributes"]
    previous.pop("fraud", None)  # The moment of the verdict may be a new second.
    assert previous == {
        "last_payment_error": {"attempt": declined["latest_attempt"]},
        "latest_attempt": declined["latest_attempt"],
        "attempts": declined["attempts"],
    }
    assert answer["latest_attempt"] != declined["latest_attempt"]


def test_events_of_a_confirm_carry_the_confirms_request_id(
    acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post("/v1/payment_intents", unconfirmed())
    confirmed = acme.post(f"/v1/payment_intents/{created['id']}/confirm")

    requests = [event["request_id"] for event in acme.events_of(created["id"])]

    assert requests == [created.headers["Request-Id"], confirmed.headers["Request-Id"]]


def test_an_event_does_not_follow_its_object(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()
    event_id = acme.events_of(paid["id"])[1]["id"]
    before = acme.get(f"/v1/events/{event_id}").response.content

    acme.post(f"/v1/payment_intents/{paid['id']}", {"description": "Tea"})

    assert acme.get(f"/v1/events/{event_id}").response.content == before


def test_a_refused_request_tells_nothing(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay(amount=0)

    assert Event.objects.count() == 0


def test_subscribers_hear_each_event_once_and_in_order(
    heard: list[Event], acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay()

    assert [event.sequence for event in heard] == [1, 2]


def test_a_subscriber_that_fails_takes_the_change_back(
    monkeypatch: pytest.MonkeyPatch, acme: ApiClient, bank: BankTransport
) -> None:
    monkeypatch.setattr(outbox, "SUBSCRIBERS", {"refuse": refuse})

    answer = acme.pay()

    assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert PaymentIntent.objects.count() == Event.objects.count() == captured_by_bank(acme) == 0
