"""Endpoints that are changed, disabled and enabled again (spec: WebhookEndpoint, states)."""

import pytest

from tests.stage.client import ApiClient
from tests.stage.hooks import PATH, URL, created, put_in, status_of, tell
from webhooks import stopping
from webhooks.models import Delivery, Endpoint, Lane

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


# --- Changed ----------------------------------------------------------------------------------


def test_an_endpoint_is_changed(acme: ApiClient) -> None:
    before = created(acme, description="Orders", metadata={"team": "shop", "floor": "2"}).body
    changes = {"url": f"{URL}/new", "enabled_events": ["customer.deleted"], "description": "New"}

    answer = acme.post(f"{PATH}/{before['id']}", {**changes, "metadata": {"floor": "", "x": "y"}})

    del before["secret"]
    assert answer.body == {**before, **changes, "metadata": {"team": "shop", "x": "y"}}
    assert acme.get(f"{PATH}/{before['id']}").body == answer.body


@pytest.mark.parametrize("empty", [None, ""])
def test_what_may_be_empty_is_cleared(empty: str | None, acme: ApiClient) -> None:
    endpoint_id = created(acme, description="Orders", metadata={"team": "shop"})["id"]

    answer = acme.post(f"{PATH}/{endpoint_id}", {"description": empty, "metadata": empty})

    assert (answer.status, answer["description"], answer["metadata"]) == (200, None, {})


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"url": None}, "parameter_missing", "url"),
        ({"url": ""}, "parameter_missing", "url"),
        ({"url": "https://globex.example"}, "webhook_url_not_allowed", "url"),
        ({"enabled_events": None}, "parameter_missing", "enabled_events"),
        ({"enabled_events": []}, "parameter_invalid", "enabled_events"),
        ({"enabled_events": ["x"]}, "parameter_invalid", "enabled_events[0]"),
        ({"disabled": None}, "parameter_missing", "disabled"),
        ({"disabled": "false"}, "parameter_invalid", "disabled"),
        ({"replay_missed": 1}, "parameter_invalid", "replay_missed"),
        ({"disabled": True, "replay_missed": True}, "parameter_invalid", "replay_missed"),
        ({"status": "enabled"}, "parameter_unknown", "status"),
        ({"metadata": {str(n): "x" for n in range(51)}}, "parameter_invalid", "metadata"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(
    changes: dict, code: str, param: str, acme: ApiClient
) -> None:
    endpoint_id = created(acme)["id"]
    before = acme.get(f"{PATH}/{endpoint_id}").body

    answer = acme.post(f"{PATH}/{endpoint_id}", {"description": "x", **changes})

    assert answer.refusal == (400, code, param)
    assert acme.get(f"{PATH}/{endpoint_id}").body == before


def test_an_empty_change_changes_nothing(acme: ApiClient) -> None:
    endpoint_id = created(acme)["id"]
    before = acme.get(f"{PATH}/{endpoint_id}").body

    answer = acme.post(f"{PATH}/{endpoint_id}", {"replay_missed": None, "description": None})

    assert (answer.status, answer.body) == (200, before)


# --- Disabled and enabled ---------------------------------------------------------------------


@pytest.mark.parametrize("status", ["enabled", "failing", "disabled"])
@pytest.mark.parametrize(("disabled", "becomes"), [(True, "disabled"), (False, "enabled")])
def test_an_endpoint_is_disabled_and_enabled_from_any_status(
    status: str, disabled: bool, becomes: str, acme: ApiClient
) -> None:
    endpoint_id = put_in(status, acme)

    answer = acme.post(f"{PATH}/{endpoint_id}", {"disabled": disabled})

    assert (answer.status, answer["status"]) == (200, becomes)
    assert status_of(acme, endpoint_id) == becomes


@pytest.mark.parametrize("ending", ["disable", "delete"])
def test_what_is_pending_is_canceled_with_the_disabling_as_missed(
    ending: str, acme: ApiClient
) -> None:
    there, other = created(acme)["id"], created(acme)["id"]
    event = tell(acme.merchant, "cus_1")

    address = f"{PATH}/{there}"
    acme.delete(address) if ending == "delete" else acme.post(address, {"disabled": True})

    rows = acme.get(f"/v1/events/{event.id}/deliveries")["data"]
    assert {row["webhook_endpoint"]: row["status"] for row in rows} == {
        there: "canceled",
        other: "pending",
    }
    assert Delivery.objects.get(endpoint=there).is_missed
    assert list(Lane.objects.values_list("endpoint", flat=True)) == [other]


def test_much_that_is_pending_is_left_to_the_sender(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint_id = created(acme)["id"]
    monkeypatch.setattr("webhooks.endpoints.FEW_LANES", 1)
    for number in (1, 2):
        tell(acme.merchant, f"cus_{number}")

    acme.post(f"{PATH}/{endpoint_id}", {"disabled": True})

    assert {row.status for row in Delivery.objects.all()} == {"pending"}
    assert stopping.stop_pending() == 2


@pytest.mark.parametrize("status", ["disabled", "failing"])
def test_what_is_pending_from_before_is_not_sent_by_enabling_alone(
    status: str, acme: ApiClient
) -> None:
    endpoint_id = created(acme)["id"]
    tell(acme.merchant, "cus_1")
    Endpoint.objects.update(status=status)

    acme.post(f"{PATH}/{endpoint_id}", {"disabled": False})

    [delivery] = Delivery.objects.all()
    assert (delivery.status, delivery.is_missed) == ("canceled", True)
    assert not Lane.objects.exists()


@pytest.mark.parametrize(("seconds", "status"), [(10, 200), (0, 409)])
def test_much_that_is_pending_is_canceled_before_the_endpoint_is_held(
    seconds: int, status: int, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.endpoints.FEW_LANES", 1)
    monkeypatch.setattr(stopping, "AHEAD_SECONDS", seconds)
    endpoint_id = created(acme)["id"]
    for number in range(3):
        tell(acme.merchant, f"cus_{number}")
    acme.post(f"{PATH}/{endpoint_id}", {"disabled": True})

    answer = acme.post(f"{PATH}/{endpoint_id}", {"disabled": False})

    assert answer.status == status
    assert status == 200 or answer.error["code"] == "lock_timeout"
    assert Delivery.objects.filter(is_missed=True).count() == (3 if status == 200 else 0)


def test_enabling_what_is_enabled_cancels_nothing(acme: ApiClient) -> None:
    endpoint_id = created(acme)["id"]
    tell(acme.merchant, "cus_1")

    acme.post(f"{PATH}/{endpoint_id}", {"disabled": False})

    assert [row.status for row in Delivery.objects.all()] == ["pending"]


def test_an_enabled_endpoint_starts_anew(acme: ApiClient) -> None:
    endpoint_id = put_in("failing", acme)

    acme.post(f"{PATH}/{endpoint_id}", {"disabled": False})

    assert Endpoint.objects.get(id=endpoint_id).failures_in_a_row == 0


def test_enabling_what_is_enabled_forgets_no_failure(acme: ApiClient) -> None:
    endpoint_id = put_in("enabled", acme)

    acme.post(f"{PATH}/{endpoint_id}", {"disabled": False})

    assert Endpoint.objects.get(id=endpoint_id).failures_in_a_row == 10
