"""Asking for what was sent, or missed, once more (contract 3 and 9)."""

from typing import Any

import orjson
import pytest

from events.models import Event
from merchants.models import Merchant
from tests.stage import webhook_world
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import PATH, created, limited, tell
from webhooks.delivery.outcomes import DELAYS_SECONDS
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

UNEXPECTED = (400, "webhook_endpoint_unexpected_state", None)


def resend(client: ApiClient, event: Event, body: dict | None = None, **headers: str) -> Answer:
    return client.post(f"/v1/events/{event.id}/resend", body, **headers)


def told(merchant: Merchant) -> Event:
    """Return an event that was recorded before there was an endpoint."""
    return tell(merchant, "cus_1")


def resent() -> dict[str, int]:
    """Return how many deliveries were asked for, per endpoint."""
    rows = Delivery.objects.filter(trigger="resend").values_list("endpoint_id", flat=True)
    return {endpoint_id: list(rows).count(endpoint_id) for endpoint_id in rows}


def endpoint(client: ApiClient, **facts: Any) -> Endpoint:
    return EndpointFactory(merchant=client.merchant, **facts)


# --- Resend -----------------------------------------------------------------------------------


def test_an_event_is_sent_again_to_every_subscriber_that_is_not_disabled(acme: ApiClient) -> None:
    event = told(acme.merchant)
    every, exactly, failing = (
        endpoint(acme),
        endpoint(acme, enabled_events=["refund.failed", event.type]),
        endpoint(acme, status="failing"),
    )
    endpoint(acme, status="disabled")
    endpoint(acme, enabled_events=["refund.failed"])
    EndpointFactory()

    answer = resend(acme, event)

    assert (answer.status, answer.body) == (200, orjson.loads(bytes(event.body)))
    assert resent() == {every.id: 1, exactly.id: 1, failing.id: 1}


def test_an_event_is_sent_again_to_the_endpoint_that_is_named(acme: ApiClient) -> None:
    event = told(acme.merchant)
    named, _other = endpoint(acme), endpoint(acme)

    answer = resend(acme, event, {"webhook_endpoint": named.id})

    assert answer.status == 200
    assert resent() == {named.id: 1}


def test_an_event_that_nobody_is_subscribed_to_is_answered_and_sent_nowhere(
    acme: ApiClient,
) -> None:
    event = told(acme.merchant)
    endpoint(acme, enabled_events=["refund.failed"])

    assert resend(acme, event).status == 200
    assert resent() == {}


def test_a_failing_endpoint_stays_so(acme: ApiClient) -> None:
    event, failing = told(acme.merchant), endpoint(acme, status="failing")

    resend(acme, event, {"webhook_endpoint": failing.id})

    assert resent() == {failing.id: 1}
    assert acme.get(f"{PATH}/{failing.id}")["status"] == "failing"


def test_to_a_disabled_endpoint_nothing_is_sent_again(acme: ApiClient) -> None:
    event, disabled = told(acme.merchant), endpoint(acme, status="disabled")

    answer = resend(acme, event, {"webhook_endpoint": disabled.id})

    assert answer.refusal == UNEXPECTED
    assert answer.error["webhook_endpoint"] == acme.get(f"{PATH}/{disabled.id}").body
    assert resent() == {}


def test_a_replayed_refusal_shows_no_endpoint_that_the_key_may_not_read(acme: ApiClient) -> None:
    event, disabled = told(acme.merchant), endpoint(acme, status="disabled")
    body = {"webhook_endpoint": disabled.id}
    scoped = acme.with_scopes(webhook_endpoints="none")
    first = resend(acme, event, body, idempotency_key="k")

    again = resend(scoped, event, body, idempotency_key="k")

    assert first.error["webhook_endpoint"]["url"] == disabled.url
    assert (again.refusal, "webhook_endpoint" in again.error) == (UNEXPECTED, False)
    assert resend(acme, event, body, idempotency_key="k").body == first.body


def test_what_an_endpoint_is_not_subscribed_to_is_not_sent_to_it(acme: ApiClient) -> None:
    event, other = told(acme.merchant), endpoint(acme, enabled_events=["refund.failed"])

    answer = resend(acme, event, {"webhook_endpoint": other.id})

    assert answer.refusal == (400, "parameter_invalid", "webhook_endpoint")
    assert resent() == {}


def test_an_endpoint_of_nobody_or_of_another_is_missing(acme: ApiClient) -> None:
    event, foreign, gone = told(acme.merchant), EndpointFactory().id, created(acme)["id"]
    acme.delete(f"{PATH}/{gone}")

    for endpoint_id in (foreign, gone, "we_unknown", "x"):
        answer = resend(acme, event, {"webhook_endpoint": endpoint_id})
        assert answer.refusal == (404, "resource_missing", "webhook_endpoint")
    assert resent() == {}


def test_an_event_is_sent_again_once_per_key(acme: ApiClient) -> None:
    event, named = told(acme.merchant), endpoint(acme)

    first = resend(acme, event, idempotency_key="k")
    second = resend(acme, event, idempotency_key="k")

    assert second.response.content == first.response.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert resent() == {named.id: 1}


def test_a_resend_that_died_before_its_answer_is_not_done_twice(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    event, named = told(acme.merchant), endpoint(acme)
    with monkeypatch.context() as broken:
        broken.delattr("webhooks.views.orjson.Fragment")
        assert resend(acme, event, idempotency_key="k").status == 500

    answer = resend(acme, event, idempotency_key="k")

    assert (answer.status, answer["id"]) == (200, event.id)
    assert resent() == {named.id: 1}


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("scopes", "named", "status"),
    [
        ({"events": "read"}, False, 403),
        ({"events": "write", "webhook_endpoints": "none"}, False, 200),
        ({"events": "write", "webhook_endpoints": "none"}, True, 403),
        ({"events": "write", "webhook_endpoints": "read"}, True, 200),
    ],
)
def test_a_resend_needs_to_write_events_and_naming_an_endpoint_to_read_them(
    scopes: dict[str, str], named: bool, status: int, acme: ApiClient
) -> None:
    event, endpoint_id = told(acme.merchant), endpoint(acme).id
    body = {"webhook_endpoint": endpoint_id} if named else {}

    assert resend(limited(acme, **scopes), event, body).status == status
    assert len(resent()) == (status == 200)


# --- Replay -----------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"since": 0}, {"since": 1_790_000_000}, {"since": None}])
def test_a_replay_is_begun_and_the_endpoint_answered(body: dict, acme: ApiClient) -> None:
    enabled = endpoint(acme)

    answer = acme.post(f"{PATH}/{enabled.id}/replay", body)

    assert (answer.status, answer.body) == (200, acme.get(f"{PATH}/{enabled.id}").body)
    enabled.refresh_from_db()
    assert enabled.replay_xid is not None
    since = enabled.replay_since
    assert (since.timestamp() if since else None) == body.get("since")


@pytest.mark.parametrize("status", ["disabled", "failing"])
@pytest.mark.parametrize("door", ["replay", "update"])
def test_what_is_not_enabled_replays_nothing(status: str, door: str, acme: ApiClient) -> None:
    there = endpoint(acme, status=status)
    address, body = (
        (f"{PATH}/{there.id}/replay", {})
        if door == "replay"
        else (f"{PATH}/{there.id}", {"replay_missed": True})
    )

    answer = acme.post(address, body, idempotency_key="k")

    assert answer.refusal == UNEXPECTED
    assert answer.error["webhook_endpoint"] == acme.get(f"{PATH}/{there.id}").body
    acme.post(f"{PATH}/{there.id}", {"disabled": False})
    assert acme.post(address, body, idempotency_key="k").body == answer.body


@pytest.mark.parametrize("status", ["disabled", "failing", "enabled"])
def test_missed_events_are_replayed_with_the_enabling_when_asked_for(
    status: str, acme: ApiClient
) -> None:
    there = endpoint(acme, status=status)

    answer = acme.post(f"{PATH}/{there.id}", {"disabled": False, "replay_missed": True})

    there.refresh_from_db()
    assert answer["status"] == there.status == "enabled"
    assert there.replay_xid is not None


@pytest.mark.parametrize("missed", [{}, {"replay_missed": False}])
def test_enabling_alone_replays_nothing(missed: dict, acme: ApiClient) -> None:
    there = endpoint(acme, status="failing")

    acme.post(f"{PATH}/{there.id}", {"disabled": False, **missed})

    there.refresh_from_db()
    assert there.replay_xid is None


@pytest.mark.parametrize("ending", ["disable", "delete"])
def test_a_replay_ends_with_its_endpoint(ending: str, acme: ApiClient) -> None:
    there = endpoint(acme)
    address = f"{PATH}/{there.id}"
    acme.post(f"{address}/replay", {"since": 1})

    answer = acme.delete(address) if ending == "delete" else acme.post(address, {"disabled": True})

    there.refresh_from_db()
    assert answer.status == 200
    assert (there.replay_xid, there.replay_since) == (None, None)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"since": -1}, "parameter_invalid", "since"),
        ({"since": "2026-11-01"}, "parameter_invalid", "since"),
        ({"since": 1.5}, "parameter_invalid", "since"),
        ({"since": 253_402_300_800}, "parameter_invalid", "since"),
        ({"until": 1}, "parameter_unknown", "until"),
    ],
)
def test_a_wrong_replay_is_refused(body: dict, code: str, param: str, acme: ApiClient) -> None:
    there = endpoint(acme)

    answer = acme.post(f"{PATH}/{there.id}/replay", body)

    there.refresh_from_db()
    assert answer.refusal == (400, code, param)
    assert there.replay_xid is None


def test_the_last_second_that_there_is_may_be_asked_for(acme: ApiClient) -> None:
    there = endpoint(acme)

    assert acme.post(f"{PATH}/{there.id}/replay", {"since": 253_402_300_799}).status == 200


# --- What comes of it -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["with the enabling", "afterwards"])
def test_what_was_missed_is_delivered_in_order_up_to_the_newest(how: str, acme: ApiClient) -> None:
    there = created(acme)["id"]
    address = f"{PATH}/{there}"
    tell(acme.merchant, "cus_1")
    acme.post(address, {"disabled": True})
    tell(acme.merchant, "cus_1")

    at_once = {"replay_missed": True} if how == "with the enabling" else {}
    acme.post(address, {"disabled": False, **at_once})
    if how == "afterwards":
        tell(acme.merchant, "cus_1")
        assert webhook_world.deliver() == [3]
        acme.post(f"{address}/replay")

    webhook_world.tidy_up()
    assert webhook_world.deliver() == ([1, 2] if at_once else [1, 2, 3])
    newest = acme.get(f"{address}/deliveries?limit=1")["data"][0]
    assert (newest["trigger"], newest["status"]) == ("replay", "succeeded")


def test_without_a_replay_what_was_missed_stays_so(acme: ApiClient) -> None:
    address = f"{PATH}/{created(acme)['id']}"
    tell(acme.merchant, "cus_1")
    acme.post(address, {"disabled": True})
    acme.post(address, {"disabled": False})
    tell(acme.merchant, "cus_1")

    webhook_world.tidy_up()

    assert webhook_world.deliver() == [2]


def test_a_new_address_is_used_for_what_failed_at_the_old_one(acme: ApiClient) -> None:
    there = created(acme)["id"]
    event = tell(acme.merchant, "cus_1")
    webhook_world.deliver(webhook_world.refused)
    acme.post(f"{PATH}/{there}", {"url": "https://acme.example/new"})

    resend(acme, event)
    webhook_world.deliver()

    rows = acme.get(f"/v1/events/{event.id}/deliveries")["data"]
    assert [(row["attempt"], row["status"], row["url"][-4:]) for row in rows] == [
        (2, "succeeded", "/new"),
        (1, "failed", "ooks"),
    ]


def test_what_is_owed_anyway_is_hurried_and_not_doubled(acme: ApiClient) -> None:
    there = created(acme)["id"]
    event = tell(acme.merchant, "cus_1")
    webhook_world.deliver(webhook_world.refused)

    answer = resend(acme, event, {"webhook_endpoint": there})

    assert answer.status == 200
    assert resent() == {}
    assert webhook_world.deliver() == [1]


def test_after_the_tenth_failure_the_endpoint_is_shown_as_failing(acme: ApiClient) -> None:
    there = created(acme)["id"]
    tell(acme.merchant, "cus_1")

    webhook_world.fail_until_given_up(Endpoint.objects.get())

    assert acme.get(f"{PATH}/{there}")["status"] == "failing"
    rows = acme.get(f"{PATH}/{there}/deliveries")["data"]
    assert [row["attempt"] for row in rows] == [*range(10, 0, -1)]
    assert [row["delay"] for row in rows][::-1] == [0, *DELAYS_SECONDS]
    assert (rows[0]["next_attempt_at"], rows[0]["error"]) == (None, "http_status")
