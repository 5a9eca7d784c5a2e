"""A key without the scope of an object does not find that object's events."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.rest import resources
from events import outbox
from events.models import Event
from events.types import AGGREGATES, names, object_of
from merchants.models import Merchant
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("undescribed")]

DENIED = (403, "permission_denied", None)
SCOPED = [about for about in AGGREGATES.values() if about.scope]
EVERYTHING = dict.fromkeys(resources.scopes(), "none")


@pytest.fixture
def told(acme: ApiClient, globex: ApiClient) -> list[Event]:
    """An event of each type, oldest first, among those of another merchant."""
    for client in (globex, acme):
        rows = [record(client.merchant, event_type) for event_type in names()]
    return rows


def record(merchant: Merchant, event_type: str) -> Event:
    about = object_of(event_type)
    return outbox.record(merchant, event_type, {"object": about, "id": f"{about}_1"})


def with_scope_of(about: Any) -> set[str]:
    """The objects whose events a key without its scope does not find: sessions with payments."""
    return {one.name for one in SCOPED if one.scope == about.scope}


def types_of(answer: Answer) -> set[str]:
    return {event["type"] for event in answer["data"]}


def test_each_object_has_the_scope_of_its_resource() -> None:
    kinds = resources.kinds()
    compared = [about for about in SCOPED if about.name in kinds]

    assert len(compared) >= 6, "nothing compared"
    assert [one.name for one in compared if one.scope != kinds[one.name].scope] == []
    assert {about.scope for about in SCOPED} <= set(resources.scopes())
    assert {*AGGREGATES} - {about.name for about in SCOPED} == {"balance"}


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("about", SCOPED, ids=lambda about: about.name)
def test_its_events_are_left_out_of_lists_and_counts(
    about: Any, acme: ApiClient, told: list[Event]
) -> None:
    scoped = acme.with_scopes(**{about.scope: "none"})
    hidden = with_scope_of(about)
    seen = [event.id for event in reversed(told) if event.aggregate_type not in hidden]

    answer = scoped.get("/v1/events?limit=100&include[]=total_count")

    assert [event["id"] for event in answer["data"]] == seen
    assert answer["total_count"] == len(seen)
    for query in (f"type={about.types[0]}", f"type={about.name}.*", f"aggregate_id={about.name}_1"):
        none = scoped.get(f"/v1/events?{query}&include[]=total_count")
        assert (none["data"], none["total_count"]) == ([], 0), query


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("about", SCOPED, ids=lambda about: about.name)
def test_by_its_id_an_event_is_403(about: Any, acme: ApiClient, told: list[Event]) -> None:
    scoped = acme.with_scopes(**{about.scope: "none"})
    EndpointFactory(merchant=acme.merchant)

    for event in {one.aggregate_type: one for one in told}.values():
        path = f"/v1/events/{event.id}"
        answers = [
            scoped.get(path), scoped.get(f"{path}/deliveries"), scoped.post(f"{path}/resend"),
        ]  # fmt: skip
        is_hidden = event.aggregate_type in with_scope_of(about)
        assert [one.status for one in answers] == [403 if is_hidden else 200] * 3, event.type
        if is_hidden:
            assert {one.refusal for one in answers} == {DENIED}
            assert about.scope in answers[0].error["message"]
    resent = set(Delivery.objects.values_list("event__aggregate_type", flat=True))
    assert resent == {*AGGREGATES} - with_scope_of(about)


def test_reading_is_enough(acme: ApiClient, told: list[Event]) -> None:
    reader = acme.with_scopes(**dict.fromkeys(resources.scopes(), "read"))

    assert types_of(reader.get("/v1/events?limit=100")) == set(names())


def test_events_of_the_balance_need_no_scope_but_that_of_events(
    acme: ApiClient, told: list[Event]
) -> None:
    scoped = acme.with_scopes(**{**EVERYTHING, "events": "read"})

    answer = scoped.get("/v1/events?include[]=total_count")

    assert types_of(answer) == {"balance.available", "balance.negative_limit_exceeded"}
    assert answer["total_count"] == 2
    assert acme.with_scopes(events="none").get("/v1/events").refusal == DENIED


def test_an_unknown_and_a_foreign_event_are_404_whatever_the_key_may_read(
    acme: ApiClient, told: list[Event]
) -> None:
    scoped = acme.with_scopes(refunds="none")
    foreign = Event.objects.exclude(merchant=acme.merchant.id).filter(type="refund.created").get()

    for event_id in (foreign.id, "evt_none", "x"):
        assert scoped.get(f"/v1/events/{event_id}").refusal[:2] == (404, "resource_missing")
        resent = scoped.post(f"/v1/events/{event_id}/resend")
        assert resent.refusal[:2] == (404, "resource_missing")


def test_a_replay_shows_no_event_that_the_key_may_not_read(
    acme: ApiClient, told: list[Event]
) -> None:
    event = next(one for one in told if one.type == "refund.created")
    path = f"/v1/events/{event.id}/resend"
    assert acme.post(path, idempotency_key="k").status == 200

    assert acme.with_scopes(refunds="none").post(path, idempotency_key="k").refusal == DENIED
    assert acme.post(path, idempotency_key="k").headers["Idempotent-Replayed"] == "true"


def test_webhooks_are_not_filtered(acme: ApiClient, told: list[Event]) -> None:
    """An endpoint has no key: whoever registers it gets what it listens for."""
    endpoint = EndpointFactory(merchant=acme.merchant)
    record(acme.merchant, "refund.created")
    scoped = acme.with_scopes(refunds="none")

    listed = scoped.get(f"/v1/webhook_endpoints/{endpoint.id}/deliveries")

    assert [row["event_type"] for row in listed["data"]] == ["refund.created"]


@pytest.mark.parametrize("sort", ["created", "-created"])
def test_pages_go_through_all_that_the_key_may_read(
    sort: str, acme: ApiClient, told: list[Event]
) -> None:
    scoped = acme.with_scopes(payment_intents="none")
    ordered = told if sort == "created" else told[::-1]
    hidden = with_scope_of(AGGREGATES["payment_intent"])
    wanted = [event.id for event in ordered if event.aggregate_type not in hidden]

    forward, last = walked(scoped, sort, "starting_after", wanted[0])
    backward, first = walked(scoped, sort, "ending_before", wanted[-1])

    assert [wanted[0], *forward] == [*backward[::-1], wanted[-1]] == wanted
    assert (last, first) == (wanted[-1], wanted[0])


def walked(client: ApiClient, sort: str, param: str, cursor: str) -> tuple[list[str], str]:
    """Return the ids from a cursor on, in the order in which they are come upon, and the last."""
    found, more = list[str](), True
    while more:
        page = client.get(f"/v1/events?sort={sort}&limit=4&{param}={cursor}")
        ids = [event["id"] for event in page["data"]]
        found += ids if param == "starting_after" else ids[::-1]
        more, cursor = page["has_more"], found[-1]
    return found, cursor


def test_filters_hold_within_what_the_key_may_read(acme: ApiClient, told: list[Event]) -> None:
    scoped = acme.with_scopes(payment_intents="none")

    def found(query: str) -> set[str]:
        return types_of(scoped.get(f"/v1/events?limit=100&{query}"))

    assert found("types[]=refund.*&types[]=payment_intent.*") == set(types("refund"))
    assert found("types[]=refund.created&types[]=customer.created") == {
        "refund.created", "customer.created",
    }  # fmt: skip
    assert found("aggregate_type=dispute&type=dispute.created") == {"dispute.created"}
    assert found("type=refund.*&aggregate_type=dispute") == set()
    assert found("created[lt]=1") == set()
    hidden = {*types("payment_intent"), *types("checkout.session")}
    assert found("created[gte]=1&delivery_success=true") == set(names()) - hidden
    assert found("delivery_success=false") == set()


def types(name: str) -> tuple[str, ...]:
    return AGGREGATES[name].types


def test_a_list_is_one_statement_whatever_the_key_may_read(
    acme: ApiClient, told: list[Event]
) -> None:
    scoped = acme.with_scopes(payment_intents="none")
    for client in (acme, scoped):
        client.get("/v1/events")  # The key's last use is written down once a minute.

    with CaptureQueriesContext(connection) as everything:
        acme.get("/v1/events")
    with CaptureQueriesContext(connection) as some:
        scoped.get("/v1/events")

    assert len(some) == len(everything)
