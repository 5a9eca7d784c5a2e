"""Signing secrets: shown once, rolled with an overlap, kept sealed (contract 2 and 6)."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from api import request_logs
from core import clock
from merchants.models import IdempotencyKey
from tests.stage.books import logged
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import PATH, created, endpoint
from webhooks import signing_secrets
from webhooks.models import SigningSecret

pytestmark = pytest.mark.django_db

SECRET = re.compile(r"whsec_[0-9A-Za-z]{32,}")
DAY = 86_400
REUSED = (400, "idempotency_key_reused", None)


def roll(client: ApiClient, endpoint_id: str, body: dict | None = None, **headers: str) -> Answer:
    return client.post(f"{PATH}/{endpoint_id}/roll_secret", body, **headers)


def signing(endpoint_id: str) -> tuple[str, ...]:
    """Return what the endpoint's deliveries are signed with now, the newest first."""
    return signing_secrets.open_for([endpoint_id], clock.now()).get(endpoint_id, ())


def pass_seconds(seconds: float) -> None:
    clock.advance(timedelta(seconds=seconds))


def dies_answering(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    """Make a request whose work is committed and whose answer is lost."""
    with monkeypatch.context() as broken:
        broken.delattr("webhooks.render.webhook_endpoint")
        assert call().status == 500


# --- Shown once -------------------------------------------------------------------------------


def test_the_secret_is_in_the_answers_that_make_it_and_in_no_other(acme: ApiClient) -> None:
    made = created(acme)
    address = f"{PATH}/{made['id']}"
    rolled = roll(acme, made["id"])

    others = [
        acme.get(PATH),
        acme.get(address),
        acme.post(address, {"description": "x"}),
        acme.post(address, {"disabled": False, "replay_missed": True}),
        acme.post(f"{address}/replay"),
        acme.get(f"{address}/deliveries"),
        acme.delete(address),
    ]

    assert SECRET.fullmatch(made["secret"])
    assert SECRET.fullmatch(rolled["secret"])
    assert {answer.status for answer in others} == {200}
    assert "whsec_" not in str([answer.body for answer in others])


def test_no_two_secrets_are_alike(acme: ApiClient) -> None:
    made = [created(acme) for _ in range(3)]

    assert len({answer["secret"] for answer in made}) == 3
    assert roll(acme, made[0]["id"])["secret"] not in {answer["secret"] for answer in made}


def test_what_is_stored_is_sealed(acme: ApiClient) -> None:
    secret = created(acme)["secret"]

    stored = bytes(SigningSecret.objects.get().sealed)

    assert secret.encode() not in stored
    assert secret.removeprefix("whsec_").encode() not in stored


# --- Rolled -----------------------------------------------------------------------------------


def test_a_rolled_secret_signs_beside_the_new_one_for_a_day(acme: ApiClient) -> None:
    old = created(acme)

    rolled = roll(acme, old["id"])

    assert {**rolled.body, "secret": None, "previous_secret_expires_at": None} == {
        **old.body,
        "secret": None,
    }
    assert rolled["previous_secret_expires_at"] == pytest.approx(
        clock.unix(clock.now()) + DAY, abs=5
    )
    assert signing(old["id"]) == (rolled["secret"], old["secret"])
    pass_seconds(DAY + 1)
    assert signing(old["id"]) == (rolled["secret"],)
    assert acme.get(f"{PATH}/{old['id']}")["previous_secret_expires_at"] is None


@pytest.mark.parametrize("seconds", [1, 3600, 604_800])
def test_the_overlap_is_as_long_as_asked_for(seconds: int, acme: ApiClient) -> None:
    old = created(acme)

    rolled = roll(acme, old["id"], {"previous_secret_expires_in": seconds})

    expected = clock.unix(clock.now()) + seconds
    assert rolled["previous_secret_expires_at"] == pytest.approx(expected, abs=5)
    pass_seconds(seconds + 1)
    assert signing(old["id"]) == (rolled["secret"],)


def test_without_an_overlap_the_old_secret_ends_at_once(acme: ApiClient) -> None:
    old = created(acme)

    rolled = roll(acme, old["id"], {"previous_secret_expires_in": 0})

    assert rolled["previous_secret_expires_at"] is None
    assert signing(old["id"]) == (rolled["secret"],)


def test_at_a_second_roll_the_one_before_the_previous_ends(acme: ApiClient) -> None:
    first = created(acme)
    second = roll(acme, first["id"], {"previous_secret_expires_in": 604_800})

    third = roll(acme, first["id"])

    assert signing(first["id"]) == (third["secret"], second["secret"])
    assert third["previous_secret_expires_at"] < second["previous_secret_expires_at"]
    listed = acme.get(PATH)["data"][0]
    assert listed["previous_secret_expires_at"] == third["previous_secret_expires_at"]


@pytest.mark.parametrize("status", ["disabled", "failing"])
def test_a_secret_is_rolled_whatever_the_status(status: str, acme: ApiClient) -> None:
    endpoint_id = EndpointFactory(merchant=acme.merchant, status=status).id

    answer = roll(acme, endpoint_id)

    assert (answer.status, answer["status"]) == (200, status)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"previous_secret_expires_in": -1}, "parameter_invalid"),
        ({"previous_secret_expires_in": 604_801}, "parameter_invalid"),
        ({"previous_secret_expires_in": "60"}, "parameter_invalid"),
        ({"previous_secret_expires_in": 1.5}, "parameter_invalid"),
        ({"previous_secret_expires_in": True}, "parameter_invalid"),
        ({"expires_in": 60}, "parameter_unknown"),
    ],
)
def test_a_wrong_overlap_is_refused_and_nothing_is_rolled(
    body: dict, code: str, acme: ApiClient
) -> None:
    old = created(acme)

    answer = roll(acme, old["id"], body)

    assert answer.refusal == (400, code, next(iter(body)))
    assert signing(old["id"]) == (old["secret"],)


def test_a_deleted_endpoints_secrets_are_destroyed(acme: ApiClient) -> None:
    endpoint_id = created(acme)["id"]
    roll(acme, endpoint_id)

    acme.delete(f"{PATH}/{endpoint_id}")

    assert not SigningSecret.objects.exists()


# --- Repeated with one key --------------------------------------------------------------------


def test_an_answer_with_a_secret_is_repeated_for_fifteen_minutes(acme: ApiClient) -> None:
    first = acme.post(PATH, endpoint(), idempotency_key="k")
    rolled = roll(acme, first["id"], idempotency_key="roll")
    assert roll(acme, first["id"], idempotency_key="roll").body == rolled.body
    assert acme.post(PATH, endpoint(), idempotency_key="k").body == first.body

    IdempotencyKey.objects.update(answer_until=timezone.now())

    assert acme.post(PATH, endpoint(), idempotency_key="k").refusal == REUSED
    assert roll(acme, first["id"], idempotency_key="roll").refusal == REUSED
    assert signing(first["id"]) == (rolled["secret"], first["secret"])


def test_a_kept_answer_is_sealed(acme: ApiClient) -> None:
    secret = acme.post(PATH, endpoint(), idempotency_key="k")["secret"]

    kept = IdempotencyKey.objects.get()

    assert timedelta(minutes=14) < kept.answer_until - timezone.now() < timedelta(minutes=16)
    assert secret.encode() not in bytes(kept.sealed_response)


def test_a_create_that_died_before_its_answer_shows_its_secret_to_the_retry(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_answering(monkeypatch, lambda: acme.post(PATH, endpoint(), idempotency_key="k"))

    answer = acme.post(PATH, endpoint(), idempotency_key="k")

    [made] = acme.get(PATH)["data"]
    assert (answer.status, answer["id"]) == (200, made["id"])
    assert signing(made["id"]) == (answer["secret"],)
    assert acme.post(PATH, endpoint(), idempotency_key="k").body == answer.body


def test_a_roll_that_died_before_its_answer_is_not_done_twice(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = created(acme)
    dies_answering(monkeypatch, lambda: roll(acme, old["id"], idempotency_key="k"))

    answer = roll(acme, old["id"], idempotency_key="k")

    assert answer.status == 200
    assert signing(old["id"]) == (answer["secret"], old["secret"])


def test_after_fifteen_minutes_a_lost_secret_stays_lost(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_answering(monkeypatch, lambda: acme.post(PATH, endpoint(), idempotency_key="k"))
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(minutes=16))

    answer = acme.post(PATH, endpoint(), idempotency_key="k")

    assert answer.refusal == REUSED
    assert "whsec_" not in str(answer.body)
    assert len(acme.get(PATH)["data"]) == 1


# --- In no log --------------------------------------------------------------------------------


def test_the_request_log_shows_no_secret(acme: ApiClient) -> None:
    made = created(acme, description="was whsec_" + "a" * 32)
    rolled = roll(acme, made["id"])

    rows = [logged(answer) for answer in (made, rolled)]

    shown = str([request_logs.shown(row) for row in rows])
    assert '"secret":"[redacted]"' in rows[0].response_body
    assert rows[0].object_id == rows[1].object_id == made["id"]
    assert '"previous_secret_expires_at":1' in rows[1].response_body
    assert not SECRET.search(shown)
    for secret in (made["secret"], rolled["secret"]):
        assert secret.removeprefix("whsec_") not in shown


def test_a_secret_that_is_sent_as_a_key_is_refused_and_not_logged(acme: ApiClient) -> None:
    secret = created(acme)["secret"]

    answer = acme.post(PATH, endpoint(), idempotency_key=f"order {secret}")

    assert answer.refusal == (400, "idempotency_key_invalid", "Idempotency-Key")
    assert secret not in str(request_logs.shown(logged(answer)))
