"""Requests that died whose work is one transaction, and answers that are kept or not (I8)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.urls import get_resolver
from django.utils import timezone

from api import idempotency, tasks
from api.viewset import ApiViewSet
from config import urls
from core.rest import expansion
from events.models import Event
from merchants import keys
from merchants.models import IdempotencyKey
from payments.customers import customers, render
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import unconfirmed
from tests.stage.sweeper import Died, dies
from vault import cvc as vault_cvc

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"


# --- Work of one transaction ------------------------------------------------------------------


def lost(*_: object, **__: object) -> None:
    raise OperationalError("gone")


def test_a_customer_is_created_once_though_the_answer_was_lost(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")

    answer = acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")

    assert (answer.status, answer["name"]) == (200, "Ayşe")
    assert Customer.objects.count() == 1
    # It repeats what another request did, though no answer of that one was kept.
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert answer.headers["Original-Request"] == Event.objects.get().request_id
    assert answer.headers["Request-Id"] != answer.headers["Original-Request"]


def test_an_update_and_a_create_are_answered_though_the_answer_was_lost(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}"
    for door, body in ((PATH, unconfirmed()), (path, {"description": "Tea"})):
        with monkeypatch.context() as patch:
            patch.setattr(expansion, "expand", lost)
            assert acme.post(door, body, idempotency_key=door[-7:]).status == 503

        answer = acme.post(door, body, idempotency_key=door[-7:])

        assert (answer.status, answer["description"]) == (200, body.get("description"))
    assert PaymentIntent.objects.count() == 2


def test_every_door_that_takes_a_post_can_go_on() -> None:
    views = {
        view for pattern in get_resolver(urls.__name__).url_patterns for view in _views(pattern)
    }
    posting = [view.cls for view in views if "post" in getattr(view, "actions", {})]

    assert len(posting) >= 3, "nothing tried"
    assert [view for view in posting if view.resume is ApiViewSet.resume] == []


def _views(pattern: Any) -> list[Any]:
    if hasattr(pattern, "url_patterns"):
        return [view for inner in pattern.url_patterns for view in _views(inner)]
    return [pattern.callback]


# --- Answers with a secret --------------------------------------------------------------------


@pytest.fixture
def secret_answer(acme: ApiClient, undescribed: None, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """An answer that shows what is shown once."""
    real = render.customer
    monkeypatch.setattr(render, "customer", lambda row: {**real(row), "secret": "s3cr3t"})
    monkeypatch.setattr(customers.outbox, "record", lambda *_: None)
    return acme.post("/v1/customers", {}, idempotency_key="k")


def test_an_answer_with_a_secret_is_kept_15_minutes(acme: ApiClient, secret_answer: Answer) -> None:
    assert acme.post("/v1/customers", {}, idempotency_key="k").body == secret_answer.body

    IdempotencyKey.objects.update(answer_until=timezone.now())

    answer = acme.post("/v1/customers", {}, idempotency_key="k")
    assert answer.refusal == (400, "idempotency_key_reused", None)


def test_an_answer_with_a_secret_is_not_only_hidden_but_gone(
    acme: ApiClient, secret_answer: Answer
) -> None:
    row = IdempotencyKey.objects.get()
    assert timedelta(minutes=14) < row.answer_until - timezone.now() < timedelta(minutes=15)
    IdempotencyKey.objects.update(answer_until=timezone.now())

    tasks.forget_idempotency_keys()

    assert IdempotencyKey.objects.get().sealed_response is None
    answer = acme.post("/v1/customers", {}, idempotency_key="k")
    assert answer.refusal == (400, "idempotency_key_reused", None)


def test_the_code_of_a_stored_card_is_held_by_the_retry(
    acme: ApiClient, bank: BankTransport
) -> None:
    with dies(vault_cvc, "hold"), pytest.raises(Died):
        acme.post(PATH, unconfirmed(), idempotency_key="k")
    created = acme.post(PATH, unconfirmed(), idempotency_key="k")

    assert acme.post(f"{PATH}/{created['id']}/confirm")["status"] == "succeeded"


def test_a_replay_shows_no_more_than_the_key_may_see(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post("/v1/customers", {"email": "ayse@example.com"})["id"]
    body = {"amount": 100, "currency": "try", "customer": customer, "expand": ["customer"]}
    assert acme.post(PATH, body, idempotency_key="k")["customer"]["email"]
    _key, secret = keys.create(acme.merchant, name="Less", scopes={"customers": "none"})

    answer = acme.twin(secret).post(PATH, body, idempotency_key="k")

    assert answer.refusal[:2] == (403, "permission_denied")
