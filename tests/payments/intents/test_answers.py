"""The answer of a payment is stored with its outcome: both or none (I8)."""

from collections.abc import Callable
from contextvars import copy_context
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from acquirers.conversation import settling
from api import idempotency
from events import outbox
from merchants.models import IdempotencyKey
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import (
    DECLINED_CARD,
    RETURN_URL,
    confirmation,
    payment,
    unconfirmed,
)
from tests.stage.sweeper import Died, dies, leases_run_out, sweep

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
THREE_D_SECURE = "4766620000000001"
BLOCKED = "4100000000000019"


def pay(client: ApiClient, number: str = "4242424242424242", **changes: Any) -> Answer:
    return client.post(PATH, payment(number, **changes), idempotency_key="order 7")


def is_stored() -> bool:
    row = IdempotencyKey.objects.get()
    return row.is_finished and row.sealed_response is not None


@pytest.mark.parametrize("number", ["4242424242424242", DECLINED_CARD, THREE_D_SECURE])
def test_the_answer_is_there_as_soon_as_the_outcome_is(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    with dies(idempotency, "kept_answer"), pytest.raises(Died):
        pay(acme, number, return_url=RETURN_URL)

    assert is_stored()
    answer = pay(acme, number, return_url=RETURN_URL)
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert answer.body == acme.payment(answer["id"]).body


def test_the_answer_that_died_is_the_first_one_whatever_came_after(
    acme: ApiClient, bank: BankTransport
) -> None:
    with dies(idempotency, "kept_answer"), pytest.raises(Died):
        pay(acme)
    intent = PaymentIntent.objects.get()
    acme.post(f"{PATH}/{intent.id}", {"description": "Changed since"})

    answer = pay(acme)

    assert answer["description"] is None
    assert answer.headers["Original-Request"] == Attempt.objects.get().request_id


def test_outcome_and_answer_are_one_commit(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()

    with CaptureQueriesContext(connection) as statements:
        pay(acme)

    texts = [query["sql"] for query in statements.captured_queries]
    of_the_key = [text for text in texts if "UPDATE merchants_idempotencykey" in text]
    assert len(of_the_key) == 1
    begun = [at for at, text in enumerate(texts) if text == "BEGIN"]
    ended = [at for at, text in enumerate(texts) if text == "COMMIT"]
    assert len(begun) == len(ended) == 2
    assert begun[1] < texts.index(of_the_key[0]) < ended[1]
    # The deliveries are planned last, so that their lanes are locked for as short as can be.
    assert "webhooks_lane" in texts[ended[1] - 1]


def test_an_outcome_that_cannot_be_written_leaves_no_answer(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        fail_after_the_answer(patched, times=2)
        assert pay(acme).refusal == (500, "internal_error", None)

    assert not is_stored()
    leases_run_out()
    assert pay(acme)["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_an_answer_that_was_rolled_back_is_given_to_nobody(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second try finds that the sweeper has ended the attempt, and renders what it made."""
    real = settling.apply_with_retry
    fail_after_the_answer(monkeypatch, times=1)

    def meanwhile(row: Any, closing: Callable[[], Any]) -> Any:
        tries: list[int] = []

        def closing_late() -> Any:
            tries.append(1)
            if len(tries) == 2:
                leases_run_out()
                sweep()
                change_description()
            return closing()

        monkeypatch.setattr(settling, "apply_with_retry", real)
        return real(row, closing_late)

    monkeypatch.setattr(settling, "apply_with_retry", meanwhile)

    answer = pay(acme)

    assert answer["description"] == "Changed since"
    assert pay(acme).body == answer.body
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_a_late_first_request_does_not_overwrite_its_retrys_answer(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, of_the_retry = settling.apply_with_retry, []

    def slept(row: Any, closing: Callable[[], Any]) -> Any:
        monkeypatch.setattr(settling, "apply_with_retry", real)
        leases_run_out()
        # In a context of its own, as in another thread.
        of_the_retry.append(copy_context().run(pay, acme.twin()))
        change_description()
        return real(row, closing)

    monkeypatch.setattr(settling, "apply_with_retry", slept)

    late = pay(acme)

    assert late.response.content == of_the_retry[0].response.content
    # Both did the work of this request, which the retry repeats as soon as it has answered.
    assert "Idempotent-Replayed" not in late.headers
    assert pay(acme).response.content == late.response.content


def test_an_answer_with_more_than_the_payment_is_not_stored_without_it(
    acme: ApiClient, bank: BankTransport
) -> None:
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        pay(acme, expand=["latest_attempt"])
    assert not is_stored()

    answer = pay(acme, expand=["latest_attempt"])

    assert answer["latest_attempt"]["object"] == "payment_attempt"
    assert answer.headers["Original-Request"] == Attempt.objects.get().request_id
    assert pay(acme, expand=["latest_attempt"]).body == answer.body


def test_a_confirm_is_answered_so_too(acme: ApiClient, bank: BankTransport) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm"
    with dies(idempotency, "kept_answer"), pytest.raises(Died):
        acme.post(path, confirmation(), idempotency_key="k")

    answer = acme.post(path, confirmation(), idempotency_key="k")

    assert (answer["status"], answer.headers["Idempotent-Replayed"]) == ("succeeded", "true")


def test_what_ends_another_payment_is_no_answer(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a request whose claim names another object, only the recovery point is written."""
    monkeypatch.setattr(settling, "settle", naming_another(settling.settle))

    answer = pay(acme)

    assert IdempotencyKey.objects.get().object_id == answer["id"]
    assert answer.status == 200
    assert pay(acme).body == answer.body


def naming_another(apply: Callable[..., Any]) -> Callable[..., Any]:
    def applied(*arguments: Any, **options: Any) -> Any:
        claim = idempotency.current()
        assert claim is not None
        with patch.object(claim, "object_id", "pi_other"):
            done = apply(*arguments, **options)
        assert not IdempotencyKey.objects.get().sealed_response
        return done

    return applied


def change_description() -> None:
    PaymentIntent.objects.update(description="Changed since")


def fail_after_the_answer(monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
    """Let the event of a payment's end not be written, some times."""
    real, left = outbox.record, [times]

    def record(merchant: Any, event_type: str, *arguments: Any, **options: Any) -> Any:
        if event_type == "payment_intent.succeeded" and left[0]:
            left[0] -= 1
            raise OperationalError("gone")
        return real(merchant, event_type, *arguments, **options)

    monkeypatch.setattr(outbox, "record", record)
