"""A payment's timeline in people's words, and the changes that an event's page shows."""

from typing import Any

import pytest
from django.test import Client

from panel.merchants.differences import differences
from tests.stage.client import ApiClient
from tests.stage.factories import SILENT_CARD, EndpointFactory
from tests.stage.sweeper import sweep_after
from tests.stage.teams import person, signed_in
from tests.stage.webhook_world import deliver, ok, refused

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def test_it_says_when_and_how_often_the_bank_was_asked_again(
    owner: Client, acme: ApiClient
) -> None:
    payment_id = acme.pay(SILENT_CARD)["id"]
    before = owner.get(f"/panel/{acme.merchant.id}/payments/{payment_id}").content.decode()

    sweep_after(11)
    page = owner.get(f"/panel/{acme.merchant.id}/payments/{payment_id}").content.decode()

    assert "We asked the bank again." not in before
    assert page.count("We asked the bank again.") == 1
    assert "1 time" in page.partition("We asked the bank again.")[2]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"a": True, "b": False, "c": False}, "1 of 3 endpoints has it."),
        ({"a": True, "b": True, "c": True}, "3 of 3 endpoints have it."),
        ({"a": False, "b": False}, "0 of 2 endpoints have it."),
        ({"a": True}, "The endpoint has it."),
        ({"a": False}, "The endpoint lacks it."),
    ],
)
def test_an_event_says_how_many_endpoints_have_it(
    owner: Client, acme: ApiClient, answers: dict[str, bool], said: str
) -> None:
    for name in answers:
        EndpointFactory(
            merchant=acme.merchant, url=f"https://{name}.example/in",
            enabled_events=["payment_intent.succeeded"],
        )  # fmt: skip
    payment_id = acme.pay()["id"]

    def reply(claimed: Any) -> Any:
        return (ok if answers[claimed.url[8]] else refused)(claimed)

    deliver(reply)

    page = owner.get(f"/panel/{acme.merchant.id}/payments/{payment_id}").content.decode()
    assert page.count(said) == 1


def test_fields_with_nothing_before_and_after_did_not_change() -> None:
    previous = {"refunds": None, "card": None, "status": "processing", "metadata": {"a": ""}}
    now = {"refunds": [], "card": {}, "status": "succeeded", "metadata": {"a": None}}

    assert [one.name for one in differences(previous, now)] == ["status"]


def test_fields_that_read_alike_did_not_change() -> None:
    assert differences({"amount": "1", "on": False}, {"amount": "1", "on": False}) == []


def test_nought_and_false_are_values() -> None:
    found = differences({"amount": 0, "on": False}, {"amount": None, "on": True})

    assert [(one.before, one.after) for one in found] == [("0", "–"), ("false", "true")]
