"""Deliveries by `status`, `event_type`, `event` and `trigger`: of an endpoint, and of an event."""

from typing import NamedTuple

import pytest

from events.models import Event
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import PATH, tell
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

MISSING = (404, "resource_missing", "event")


class Sent(NamedTuple):
    """Two events at one endpoint, each in several attempts; and one at another endpoint."""

    endpoint: Endpoint
    updated: Event
    created: Event


@pytest.fixture
def sent(acme: ApiClient) -> Sent:
    endpoint = EndpointFactory(merchant=acme.merchant)
    updated = tell(acme.merchant, "cus_1")
    created = tell(acme.merchant, "cus_2", "customer.created")
    EndpointFactory(merchant=acme.merchant)
    for place, event, attempts in (
        (1, updated, [("failed", "automatic"), ("failed", "automatic"), ("succeeded", "resend")]),
        (2, created, [("canceled", "automatic"), ("succeeded", "replay")]),
    ):
        attempted(event, attempts, place)
    tell(acme.merchant, "cus_3")
    return Sent(endpoint, updated, created)


def attempted(event: Event, attempts: list[tuple[str, str]], place: int) -> None:
    """Let there be attempts to deliver an event, oldest first, in the place of the one to come."""
    row = Delivery.objects.get(event=event)
    row.delete()
    for number, (status, trigger) in enumerate(attempts, start=1):
        # Ids of one millisecond would be in any order.
        row.pk, row.attempt = f"whd_00{place}{number:020}", number
        row.status, row.trigger = status, trigger
        row.save(force_insert=True)


def of_endpoint(client: ApiClient, sent: Sent, query: str) -> Answer:
    return client.get(f"{PATH}/{sent.endpoint.id}/deliveries?include[]=total_count&{query}")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=failed", ["customer.updated 2", "customer.updated 1"]),
        ("status=canceled", ["customer.created 1"]),
        ("status=pending", ["customer.updated 1"]),
        ("status[]=failed&status[]=canceled",
         ["customer.created 1", "customer.updated 2", "customer.updated 1"]),
        ("status=succeeded&status=pending",
         ["customer.updated 1", "customer.created 2", "customer.updated 3"]),
        ("event_type=customer.created", ["customer.created 2", "customer.created 1"]),
        ("event_type=customer.created&status=succeeded", ["customer.created 2"]),
        ("event_type=refund.*", []),
        ("trigger=resend", ["customer.updated 3"]),
        ("trigger=replay", ["customer.created 2"]),
        ("trigger=automatic&status=failed", ["customer.updated 2", "customer.updated 1"]),
        ("trigger=replay&status=failed", []),
        ("sort=created&status=failed", ["customer.updated 1", "customer.updated 2"]),
    ],
)  # fmt: skip
def test_deliveries_of_an_endpoint_are_found_by(
    query: str, found: list[str], acme: ApiClient, sent: Sent
) -> None:
    answer = of_endpoint(acme, sent, query)

    assert [f"{row['event_type']} {row['attempt']}" for row in answer["data"]] == found
    assert answer["total_count"] == len(found)


def test_families_of_types_are_taken_as_the_list_of_events_does(
    acme: ApiClient, sent: Sent
) -> None:
    every = of_endpoint(acme, sent, "")

    assert of_endpoint(acme, sent, "event_type=customer.*").body == every.body
    assert every["total_count"] == 6


def test_deliveries_of_an_endpoint_are_found_by_their_event(acme: ApiClient, sent: Sent) -> None:
    answer = of_endpoint(acme, sent, f"event={sent.created.id}")

    assert [row["event"] for row in answer["data"]] == [sent.created.id] * 2
    assert of_endpoint(acme, sent, f"event={sent.created.id}&status=failed")["data"] == []


def test_deliveries_of_an_event_take_the_same(acme: ApiClient, sent: Sent) -> None:
    def found(query: str) -> list[int]:
        answer = acme.get(f"/v1/events/{sent.updated.id}/deliveries?{query}")
        return [row["attempt"] for row in answer["data"]]

    assert found("status=failed") == [2, 1]
    assert found("trigger=resend") == [3]
    assert found("event_type=customer.updated&status[]=failed&status[]=succeeded") == [3, 2, 1]
    assert found("event_type=customer.created") == []
    assert found(f"event={sent.updated.id}") == [3, 2, 1]
    assert found(f"event={sent.created.id}") == []


def test_an_event_that_is_unknown_or_foreign_is_404(
    acme: ApiClient, globex: ApiClient, sent: Sent
) -> None:
    foreign = tell(globex.merchant, "cus_9")

    for event_id in (foreign.id, "evt_none", "x", ""):
        assert of_endpoint(acme, sent, f"event={event_id}").refusal == MISSING


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=missed", "status"), ("status[]=failed&status[]=x", "status[]"),
        ("trigger=hand", "trigger"), ("trigger[]=resend", "trigger[]"),
        ("event_type=no.such", "event_type"), ("event_type=*", "event_type"),
        ("event_type[]=refund.created", "event_type[]"), ("event[]=evt_1", "event[]"),
        ("created[gte]=1", "created[gte]"), ("attempt=1", "attempt"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(query: str, param: str, acme: ApiClient, sent: Sent) -> None:
    assert of_endpoint(acme, sent, query).refusal == (400, "parameter_invalid", param)
