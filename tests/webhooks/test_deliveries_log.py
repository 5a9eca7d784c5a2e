"""The log of deliveries: merchants read every attempt, and how it went (contract 2)."""

from datetime import timedelta

import pytest

from core import clock
from events.models import Event
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import PATH, created, limited, tell
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

FIELDS = {
    "id", "object", "event", "event_type", "webhook_endpoint", "url", "attempt", "status",
    "trigger", "delay", "duration_ms", "scheduled_at", "attempted_at", "next_attempt_at",
    "response_status", "response_excerpt", "error", "created", "livemode",
}  # fmt: skip


def deliveries(client: ApiClient, endpoint_id: str, query: str = "") -> Answer:
    return client.get(f"{PATH}/{endpoint_id}/deliveries{query}")


def of_event(client: ApiClient, event: Event, query: str = "") -> Answer:
    return client.get(f"/v1/events/{event.id}/deliveries{query}")


def shown(answer: Answer) -> list[str]:
    return [row["id"] for row in answer["data"]]


@pytest.fixture
def endpoint_id(acme: ApiClient) -> str:
    return created(acme)["id"]


@pytest.fixture
def told(acme: ApiClient, endpoint_id: str) -> list[str]:
    """The ids of five deliveries to the endpoint, newest first."""
    for number in range(5):
        tell(acme.merchant, f"cus_{number}")
    return sorted(Delivery.objects.values_list("id", flat=True), reverse=True)


def test_a_delivery_to_come_is_listed_as_pending(acme: ApiClient, endpoint_id: str) -> None:
    event = tell(acme.merchant, "cus_1")

    [row] = deliveries(acme, endpoint_id)["data"]

    assert row.keys() == FIELDS
    assert row["id"].startswith("whd_")
    assert {name: row[name] for name in FIELDS - {"id"}} == {
        "object": "webhook_delivery",
        "event": event.id,
        "event_type": "customer.updated",
        "webhook_endpoint": endpoint_id,
        "url": "https://acme.example/hooks",
        "attempt": 1,
        "status": "pending",
        "trigger": "automatic",
        "delay": 0,
        "scheduled_at": clock.unix(event.created_at),
        "created": clock.unix(event.created_at),
        "livemode": False,
        **dict.fromkeys(
            ["duration_ms", "attempted_at", "next_attempt_at", "response_status"]
            + ["response_excerpt", "error"]
        ),
    }


def test_an_attempt_shows_how_it_went(acme: ApiClient, endpoint_id: str) -> None:
    event = tell(acme.merchant, "cus_1")
    went = {
        "duration_ms": 87,
        "response_status": 503,
        "response_excerpt": "Sorry",
        "error": "http_status",
    }
    later = event.created_at + timedelta(seconds=60)
    Delivery.objects.update(
        status="failed",
        attempt=3,
        delay_seconds=300,
        attempted_at=later,
        next_attempt_at=later,
        **went,
    )

    [row] = of_event(acme, event)["data"]

    assert {name: row[name] for name in went} == went
    assert (row["status"], row["attempt"], row["delay"]) == ("failed", 3, 300)
    assert row["attempted_at"] == row["next_attempt_at"] == clock.unix(later)


def test_what_an_endpoint_missed_is_listed_as_canceled(acme: ApiClient, endpoint_id: str) -> None:
    acme.post(f"{PATH}/{endpoint_id}", {"disabled": True})
    tell(acme.merchant, "cus_1")

    assert [row["status"] for row in deliveries(acme, endpoint_id)["data"]] == ["canceled"]


def test_deliveries_are_listed_newest_first(
    acme: ApiClient, endpoint_id: str, told: list[str]
) -> None:
    answer = deliveries(acme, endpoint_id)

    assert shown(answer) == told
    assert answer.body.keys() == {"object", "url", "has_more", "data"}
    assert (answer["object"], answer["has_more"]) == ("list", False)
    assert answer["url"] == f"{PATH}/{endpoint_id}/deliveries"


def test_pages_follow_each_other_without_gap_or_repeat(
    acme: ApiClient, endpoint_id: str, told: list[str]
) -> None:
    found, query = [], "?limit=2"
    while query:
        page = deliveries(acme, endpoint_id, query)
        found += shown(page)
        query = f"?limit=2&starting_after={found[-1]}" if page["has_more"] else ""

    assert found == told


def test_a_moved_clock_does_not_move_a_page(
    acme: ApiClient, endpoint_id: str, told: list[str]
) -> None:
    Delivery.objects.filter(id=told[-1]).update(created_at=clock.now() + timedelta(days=9))

    assert shown(deliveries(acme, endpoint_id)) == told


def test_an_event_lists_its_deliveries_to_every_endpoint(acme: ApiClient) -> None:
    endpoint_ids = {created(acme)["id"], created(acme)["id"]}
    event = tell(acme.merchant, "cus_1")
    tell(acme.merchant, "cus_1")

    rows = of_event(acme, event)["data"]

    assert {row["event"] for row in rows} == {event.id}
    assert len(rows) == 2
    assert {row["webhook_endpoint"] for row in rows} == endpoint_ids


def test_an_event_keeps_the_deliveries_to_an_endpoint_that_is_gone(
    acme: ApiClient, endpoint_id: str
) -> None:
    event = tell(acme.merchant, "cus_1")
    acme.delete(f"{PATH}/{endpoint_id}")

    assert [row["webhook_endpoint"] for row in of_event(acme, event)["data"]] == [endpoint_id]


def test_another_merchants_deliveries_are_not_there(
    acme: ApiClient, globex: ApiClient, told: list[str]
) -> None:
    own = created(globex, url="https://globex.example")["id"]
    event = tell(globex.merchant, "cus_of_globex")

    for answer_of in (
        lambda query: deliveries(globex, own, query),
        lambda query: of_event(globex, event, query),
    ):
        assert len(shown(answer_of(""))) == 1
        for cursor in (told[0], "whd_unknown", "x", ""):
            refusal = answer_of(f"?starting_after={cursor}").refusal
            assert refusal == (404, "resource_missing", "starting_after")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "colour=green", "sort=amount"])
def test_a_wrong_argument_is_refused(query: str, acme: ApiClient, endpoint_id: str) -> None:
    event = tell(acme.merchant, "cus_1")

    for answer in (deliveries(acme, endpoint_id, f"?{query}"), of_event(acme, event, f"?{query}")):
        assert answer.refusal == (400, "parameter_invalid", query.partition("=")[0])


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        ({"events": "read", "webhook_endpoints": "read"}, 200),
        ({"events": "none"}, 403),
        ({"webhook_endpoints": "none"}, 403),
    ],
)
def test_an_events_deliveries_need_both_scopes(
    scopes: dict[str, str], status: int, acme: ApiClient
) -> None:
    event = tell(acme.merchant, "cus_1")

    assert of_event(limited(acme, **scopes), event).status == status


def test_a_long_list_is_read_in_few_rows(acme: ApiClient) -> None:
    """Newest first needs no sort: the index of the endpoint has that order."""
    endpoint: Endpoint = EndpointFactory(merchant=acme.merchant)
    rows = Delivery.objects.for_merchant(acme.merchant).filter(endpoint=endpoint)

    plan = rows.filter(id__lt="whd_z").order_by("-id")[:11].explain()

    assert "Sort" not in plan, plan
