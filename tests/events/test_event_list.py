"""Reading events: newest first, page by page, one's own only (spec: List conventions)."""

import pytest

from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def customers(acme: ApiClient) -> list[str]:
    """Five customers, newest first, each with one event."""
    return [acme.post("/v1/customers")["id"] for _ in range(5)][::-1]


def listed(client: ApiClient, query: str = "") -> list[str]:
    return [event["aggregate_id"] for event in client.get(f"/v1/events{query}")["data"]]


def test_events_are_listed_newest_first(acme: ApiClient, customers: list[str]) -> None:
    answer = acme.get("/v1/events")

    assert answer.status == 200
    assert answer.body.keys() == {"object", "url", "has_more", "data"}
    assert (answer["object"], answer["url"], answer["has_more"]) == ("list", "/v1/events", False)
    assert [event["aggregate_id"] for event in answer["data"]] == customers


def test_pages_follow_each_other_without_gap_or_repeat(
    acme: ApiClient, customers: list[str]
) -> None:
    found, more, query = [], True, "?limit=2"
    while more:
        page = acme.get(f"/v1/events{query}")
        found += [event["aggregate_id"] for event in page["data"]]
        more, query = page["has_more"], f"?limit=2&starting_after={page['data'][-1]['id']}"

    assert found == customers


def test_a_cursor_stays_where_it_is_when_events_are_added(
    acme: ApiClient, customers: list[str]
) -> None:
    cursor = acme.get("/v1/events?limit=2")["data"][-1]["id"]

    acme.post("/v1/customers")

    assert listed(acme, f"?starting_after={cursor}") == customers[2:]


def test_a_page_has_ten_by_default(acme: ApiClient) -> None:
    for _ in range(11):
        acme.post("/v1/customers")

    answer = acme.get("/v1/events")

    assert (len(answer["data"]), answer["has_more"]) == (10, True)


def test_after_the_last_comes_an_empty_page(acme: ApiClient, customers: list[str]) -> None:
    last = acme.get("/v1/events")["data"][-1]["id"]

    answer = acme.get(f"/v1/events?starting_after={last}")

    assert (answer["data"], answer["has_more"]) == ([], False)


def test_a_listed_event_is_the_event(acme: ApiClient, customers: list[str]) -> None:
    event = acme.get("/v1/events?limit=1")["data"][0]

    assert acme.get(f"/v1/events/{event['id']}").body == event


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1.0", "", "٣", "01"])
def test_a_limit_is_1_to_100(limit: str, acme: ApiClient) -> None:
    answer = acme.get(f"/v1/events?limit={limit}")

    assert answer.refusal == (400, "parameter_invalid", "limit")


@pytest.mark.parametrize(
    "query", ["colour=green", "limit=1&limit=2", "include[]=total", "a[gte]=1"]
)
def test_an_unknown_or_repeated_argument_is_refused(query: str, acme: ApiClient) -> None:
    answer = acme.get(f"/v1/events?{query}")

    assert answer.refusal == (400, "parameter_invalid", query.partition("=")[0])


def test_another_merchants_events_are_not_there(
    acme: ApiClient, globex: ApiClient, customers: list[str]
) -> None:
    event_id = acme.get("/v1/events")["data"][0]["id"]

    assert listed(globex) == []
    assert globex.get(f"/v1/events/{event_id}").refusal == (404, "resource_missing", None)
    answer = globex.get(f"/v1/events?starting_after={event_id}")
    assert answer.refusal == (404, "resource_missing", "starting_after")


def test_an_unknown_cursor_is_missing(acme: ApiClient) -> None:
    for cursor in ("evt_unknown", "x", ""):
        answer = acme.get(f"/v1/events?starting_after={cursor}")
        assert answer.refusal == (404, "resource_missing", "starting_after")


@pytest.mark.parametrize(
    ("status", "is_missed", "success"),
    [
        ("succeeded", False, "true"),
        ("pending", False, "false"),
        ("canceled", True, "false"),
        ("failed", True, "false"),
        # Given up and taken up again by a replay, which has a row of its own.
        ("failed", False, "true"),
    ],
)
def test_events_are_found_by_whether_they_were_delivered(
    status: str, is_missed: bool, success: str, acme: ApiClient
) -> None:
    EndpointFactory(merchant=acme.merchant)
    customer = acme.post("/v1/customers")["id"]
    Delivery.objects.update(status=status, is_missed=is_missed)
    other = {"true": "false", "false": "true"}[success]

    assert listed(acme, f"?delivery_success={success}") == [customer]
    assert listed(acme, f"?delivery_success={other}") == []


def test_an_event_that_nobody_waits_for_was_delivered(acme: ApiClient) -> None:
    customer = acme.post("/v1/customers")["id"]

    assert listed(acme, "?delivery_success=true") == [customer]
    refusal = acme.get("/v1/events?delivery_success=yes").refusal
    assert refusal == (400, "parameter_invalid", "delivery_success")


def test_events_are_filtered_by_type_and_object(acme: ApiClient, customers: list[str]) -> None:
    assert listed(acme, "?type=customer.*&limit=2") == customers[:2]
    assert listed(acme, "?types[]=refund.*&types[]=payout.paid") == []
    assert listed(acme, f"?aggregate_id={customers[3]}&aggregate_type=customer") == [customers[3]]
