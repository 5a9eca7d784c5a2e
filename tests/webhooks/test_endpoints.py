"""Webhook endpoints: created, listed, read, changed, disabled, deleted (contract 3 and 9)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events import types
from events.types import AGGREGATES
from tests.stage.books import row_counts
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import PATH, URL, created, endpoint, limited, tell
from tests.stage.refusals import assert_envelope
from tests.stage.threads import at_once, wait_for_the_others
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FIELDS = {
    "id", "object", "url", "enabled_events", "status", "description", "metadata", "api_version",
    "previous_secret_expires_at", "created", "livemode",
}  # fmt: skip
LIMIT = (400, "endpoint_limit_reached", None)


def listed(client: ApiClient, query: str = "") -> list[str]:
    return [row["id"] for row in client.get(f"{PATH}{query}")["data"]]


# --- Created and read -------------------------------------------------------------------------


def test_an_endpoint_is_created_and_read(acme: ApiClient) -> None:
    body = endpoint(
        enabled_events=["customer.created", "refund.failed"],
        description="Orders",
        metadata={"team": "shop", "empty": ""},
    )

    answer = created(acme, **body)

    assert answer.body.keys() == FIELDS | {"secret"}
    assert {name: answer[name] for name in body} == {**body, "metadata": {"team": "shop"}}
    assert answer["id"].startswith("we_")
    assert (answer["object"], answer["status"]) == ("webhook_endpoint", "enabled")
    assert (answer["api_version"], answer["livemode"]) == ("2026-11-01", False)
    assert answer["previous_secret_expires_at"] is None
    read = acme.get(f"{PATH}/{answer['id']}").body
    assert {**read, "secret": answer["secret"]} == answer.body


def test_an_endpoint_needs_an_address_and_types_only(acme: ApiClient) -> None:
    answer = created(acme, description=None, metadata=None)

    assert (answer["url"], answer["enabled_events"]) == (URL, ["*"])
    assert (answer["description"], answer["metadata"]) == (None, {})


def test_all_types_may_be_named(acme: ApiClient) -> None:
    of_spec = [one for about in AGGREGATES.values() if about.is_of_spec for one in about.types]
    beside = [*types.names()][len(of_spec) :]

    assert len(set(types.names())) == len(types.names())
    assert len(of_spec) == 26
    assert beside == ["checkout.session.completed", "checkout.session.expired"]
    assert created(acme, enabled_events=[*types.names()])["enabled_events"] == [*types.names()]


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"url": None}, "parameter_missing", "url"),
        ({"url": ""}, "parameter_missing", "url"),
        ({"url": 7}, "parameter_invalid", "url"),
        ({"url": "https://globex.example"}, "webhook_url_not_allowed", "url"),
        ({"url": "http://acme.example"}, "webhook_url_not_allowed", "url"),
        ({"enabled_events": None}, "parameter_missing", "enabled_events"),
        ({"enabled_events": []}, "parameter_invalid", "enabled_events"),
        ({"enabled_events": "*"}, "parameter_invalid", "enabled_events"),
        ({"enabled_events": {"0": "*"}}, "parameter_invalid", "enabled_events"),
        ({"enabled_events": ["customer.born"]}, "parameter_invalid", "enabled_events[0]"),
        ({"enabled_events": ["refund.*"]}, "parameter_invalid", "enabled_events[0]"),
        ({"enabled_events": [" *"]}, "parameter_invalid", "enabled_events[0]"),
        ({"enabled_events": ["customer.created", 7]}, "parameter_invalid", "enabled_events[1]"),
        ({"enabled_events": ["customer.created", None]}, "parameter_invalid", "enabled_events[1]"),
        ({"enabled_events": [["*"]]}, "parameter_invalid", "enabled_events[0]"),
        ({"enabled_events": ["customer.created"] * 2}, "parameter_invalid", "enabled_events[1]"),
        ({"enabled_events": ["customer.created", "*"]}, "parameter_invalid", "enabled_events[1]"),
        ({"enabled_events": ["*", "*"]}, "parameter_invalid", "enabled_events[0]"),
        ({"description": "x" * 1001}, "parameter_invalid", "description"),
        ({"metadata": {"a[b]": "c"}}, "parameter_invalid", "metadata[a[b]]"),
        ({"secret": "whsec_mine"}, "parameter_unknown", "secret"),
        ({"status": "enabled"}, "parameter_unknown", "status"),
        ({"disabled": True}, "parameter_unknown", "disabled"),
        ({"api_version": "2026-11-01"}, "parameter_unknown", "api_version"),
        ({"expand": ["secret"]}, "parameter_invalid", "expand[]"),
    ],
)
def test_a_wrong_endpoint_is_refused(changes: dict, code: str, param: str, acme: ApiClient) -> None:
    before = row_counts()

    answer = acme.post(PATH, endpoint(**changes))

    assert answer.refusal == (400, code, param)
    assert_envelope(answer)
    assert row_counts() == before


def test_a_refused_address_is_told_with_its_rule_and_is_not_repeated(acme: ApiClient) -> None:
    answer = acme.post(PATH, endpoint(url="https://evil.example/hooks"))

    assert "neither on a registered website nor under" in answer.error["message"]
    assert "evil" not in str(answer.body)


def test_an_endpoint_is_told_from_then_on(acme: ApiClient) -> None:
    tell(acme.merchant, "cus_1")
    endpoint_id = created(acme)["id"]

    tell(acme.merchant, "cus_1")

    [delivery] = Delivery.objects.filter(endpoint=endpoint_id)
    assert (delivery.sequence, delivery.status) == (2, "pending")


# --- Listed -----------------------------------------------------------------------------------


def test_endpoints_are_listed_newest_first_page_by_page(acme: ApiClient) -> None:
    endpoint_ids = [created(acme)["id"] for _ in range(5)][::-1]

    first = acme.get(f"{PATH}?limit=2")

    assert listed(acme) == endpoint_ids
    assert (first["object"], first["url"], first["has_more"]) == ("list", PATH, True)
    assert listed(acme, f"?limit=2&starting_after={endpoint_ids[1]}") == endpoint_ids[2:4]
    assert first["data"][0] == acme.get(f"{PATH}/{endpoint_ids[0]}").body


def test_a_longer_list_takes_no_more_statements(acme: ApiClient) -> None:
    counts = []
    for _ in range(3):
        created(acme)
        acme.get(PATH)
        with CaptureQueriesContext(connection) as statements:
            acme.get(PATH)
        counts.append(len(statements))

    assert counts[0] == counts[1] == counts[2] > 0


def test_a_deleted_endpoint_is_no_longer_listed_and_stays_a_cursor(acme: ApiClient) -> None:
    newest, middle, oldest = [created(acme)["id"] for _ in range(3)][::-1]

    acme.delete(f"{PATH}/{middle}")

    assert listed(acme) == [newest, oldest]
    assert listed(acme, f"?starting_after={middle}") == [oldest]


def test_another_merchants_endpoints_are_not_there(acme: ApiClient, globex: ApiClient) -> None:
    foreign = created(acme)["id"]

    assert listed(globex) == []
    for cursor in (foreign, "we_unknown", "x"):
        answer = globex.get(f"{PATH}?starting_after={cursor}")
        assert answer.refusal == (404, "resource_missing", "starting_after")


@pytest.mark.parametrize(
    ("path", "query"),
    [("", "colour=green"), ("", "limit=0"), ("/{id}", "limit=1"), ("/{id}/deliveries", "status=x")],
)
def test_an_argument_that_the_address_does_not_take_is_refused(
    path: str, query: str, acme: ApiClient
) -> None:
    address = PATH + path.format(id=created(acme)["id"])

    answer = acme.get(f"{address}?{query}")

    assert answer.refusal == (400, "parameter_invalid", query.partition("=")[0])


# --- Sixteen ----------------------------------------------------------------------------------


def test_the_seventeenth_is_refused_until_one_is_deleted(
    acme: ApiClient, globex: ApiClient
) -> None:
    endpoint_ids = [created(acme)["id"] for _ in range(16)]

    refused = acme.post(PATH, endpoint())

    assert refused.refusal == LIMIT
    assert created(globex, url="https://globex.example")["status"] == "enabled"
    acme.post(f"{PATH}/{endpoint_ids[0]}", {"disabled": True})
    assert acme.post(PATH, endpoint()).refusal == LIMIT
    acme.delete(f"{PATH}/{endpoint_ids[0]}")
    assert created(acme)["status"] == "enabled"


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_requests_that_meet_make_sixteen_together(acme: ApiClient) -> None:
    for _ in range(12):
        EndpointFactory(merchant=acme.merchant)
    twins = [acme.twin() for _ in range(8)]

    answers = at_once([lambda twin=twin: twin.post(PATH, endpoint()) for twin in twins])

    assert sorted(answer.status for answer in answers) == [200] * 4 + [400] * 4
    assert {answer.refusal for answer in answers if answer.status == 400} == {LIMIT}
    assert Endpoint.objects.count() == 16


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_without_the_lock_more_than_sixteen_are_made(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race above can fail."""
    monkeypatch.setattr("webhooks.endpoints.Merchant.objects.select_for_update", _no_lock)
    monkeypatch.setattr("webhooks.endpoints.signing_secrets.create", _slowly_created)
    for _ in range(15):
        EndpointFactory(merchant=acme.merchant)
    twins = [acme.twin() for _ in range(8)]

    at_once([lambda twin=twin: twin.post(PATH, endpoint()) for twin in twins])

    assert Endpoint.objects.count() > 16


def _slowly_created(_endpoint: Endpoint) -> str:
    wait_for_the_others()  # In the transaction: all have counted before one commits.
    return "whsec_"


def _no_lock(**_options: bool) -> Any:
    return Endpoint._meta.get_field("merchant").related_model._base_manager.all()


# --- Deleted ----------------------------------------------------------------------------------


def test_a_deleted_endpoint_is_gone(acme: ApiClient) -> None:
    endpoint_id = created(acme)["id"]
    address = f"{PATH}/{endpoint_id}"

    answer = acme.delete(address)

    told = {"id": endpoint_id, "object": "webhook_endpoint", "deleted": True}
    assert (answer.status, answer.body) == (200, told)
    gone = (404, "resource_missing", None)
    assert acme.get(address).refusal == acme.delete(address).refusal == gone
    for action in ("", "/roll_secret", "/replay"):
        assert acme.post(f"{address}{action}").refusal == gone
    assert acme.get(f"{address}/deliveries").refusal == gone


def test_a_delete_takes_no_argument_and_minds_no_key(acme: ApiClient) -> None:
    first, second = created(acme)["id"], created(acme)["id"]

    assert acme.delete(f"{PATH}/{first}?limit=1").refusal == (400, "parameter_invalid", "limit")
    for endpoint_id in (first, second):
        assert acme.delete(f"{PATH}/{endpoint_id}", idempotency_key="k")["id"] == endpoint_id


def test_a_deleted_endpoint_is_told_nothing_more(acme: ApiClient) -> None:
    endpoint_id = created(acme)["id"]
    acme.delete(f"{PATH}/{endpoint_id}")

    tell(acme.merchant, "cus_1")

    assert not Delivery.objects.exists()
    assert not Lane.objects.exists()


# --- Keys and repeats -------------------------------------------------------------------------


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("level", "reading", "writing"), [("none", 403, 403), ("read", 200, 403), ("write", 200, 200)]
)
def test_a_keys_scope_is_held(level: str, reading: int, writing: int, acme: ApiClient) -> None:
    address = f"{PATH}/{created(acme)['id']}"
    client = limited(acme, webhook_endpoints=level)

    reads = [client.get(path) for path in (PATH, address, f"{address}/deliveries")]
    writes: list[Answer] = [
        client.post(PATH, endpoint()),
        *(client.post(address + action) for action in ("", "/roll_secret", "/replay")),
        client.delete(address),
    ]

    assert {answer.status for answer in reads} == {reading}
    assert {answer.status for answer in writes} == {writing}


def test_the_same_create_again_is_the_same_endpoint(acme: ApiClient) -> None:
    first = acme.post(PATH, endpoint(), idempotency_key="k")

    second = acme.post(PATH, endpoint(), idempotency_key="k")

    assert second.response.content == first.response.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Endpoint.objects.count() == 1


def test_the_limits_refusal_is_kept_with_its_key(acme: ApiClient) -> None:
    endpoint_ids = [created(acme)["id"] for _ in range(16)]
    acme.post(PATH, endpoint(), idempotency_key="k")
    acme.delete(f"{PATH}/{endpoint_ids[0]}")

    assert acme.post(PATH, endpoint(), idempotency_key="k").refusal == LIMIT


def test_an_update_that_died_before_its_answer_is_answered_as_it_is_now(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{PATH}/{created(acme)['id']}"
    with monkeypatch.context() as broken:
        broken.delattr("webhooks.render.webhook_endpoint")
        assert acme.post(address, {"disabled": True}, idempotency_key="k").status == 500
    acme.post(address, {"disabled": False})

    answer = acme.post(address, {"disabled": True}, idempotency_key="k")

    assert (answer.status, answer["status"]) == (200, "enabled")
