"""Requests that race: whatever their order, the bank charges once (I3, I8).

Each check is also run against a service whose guard was taken away, for a race that
cannot be lost proves nothing.
"""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from api import idempotency
from core.querysets import MerchantRows
from payments.charging import confirmation as confirming
from payments.intents.models import PaymentIntent
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import DECLINED_CARD, confirmation, payment, unconfirmed
from tests.stage.threads import at_once, dropped, wait_for_the_others

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
ROUNDS = 5
CREATE = {"amount": 12500, "currency": "try"}


@pytest.fixture
def slow_bank(bank: BankTransport) -> BankTransport:
    """A bank that answers when all others have been answered, or are there too."""
    bank.meanwhile = wait_for_the_others
    return bank


def one_key(client: ApiClient, times: int) -> list[Answer]:
    """Send the same payment with the same idempotency key from many threads."""
    twins = [client.twin() for _ in range(times)]
    return at_once([lambda c=c: c.post(PATH, payment(), idempotency_key="k") for c in twins])


def confirms(client: ApiClient, payment_id: str, body: dict, times: int) -> list[Answer]:
    path, twins = f"{PATH}/{payment_id}/confirm", [client.twin() for _ in range(times)]
    return at_once([lambda c=c: c.post(path, body) for c in twins])


def assert_charged_once(client: ApiClient) -> None:
    assert len(bank_books.orders()) == 1
    assert captured_by_bank(client) == client.pending() == 12500


def then_wait(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a wait after it: all come to the moment in which races are lost."""

    def slow(*arguments: Any, **options: Any) -> Any:
        answer = function(*arguments, **options)
        wait_for_the_others()
        return answer

    return slow


def test_one_idempotency_key_makes_one_payment(acme: ApiClient, slow_bank: BankTransport) -> None:
    answers = one_key(acme, times=20)

    done = [answer for answer in answers if answer.status == 200]
    others = [answer.refusal for answer in answers if answer.status != 200]
    assert len({answer.response.content for answer in done}) == 1
    assert set(others) <= {(409, "idempotency_key_in_use", None)}
    assert PaymentIntent.objects.count() == 1
    assert_charged_once(acme)


def test_after_the_race_everybody_gets_the_winners_answer(
    acme: ApiClient, bank: BankTransport
) -> None:
    winner = acme.post(PATH, payment(), idempotency_key="k")

    answers = one_key(acme, times=20)

    assert {answer.response.content for answer in answers} == {winner.response.content}
    assert_charged_once(acme)


def test_forty_confirms_charge_once(acme: ApiClient, slow_bank: BankTransport) -> None:
    created = acme.post(PATH, CREATE)

    answers = confirms(acme, created["id"], confirmation(), times=40)

    assert [answer["status"] for answer in answers if answer.status == 200] == ["succeeded"]
    refusals = {answer.refusal for answer in answers if answer.status != 200}
    assert refusals <= {(409, "lock_timeout", None), (400, "payment_intent_unexpected_state", None)}
    assert len(acme.payment(created["id"])["attempts"]) == 1
    assert_charged_once(acme)


def test_twenty_confirms_of_a_stored_card_charge_once(
    acme: ApiClient, slow_bank: BankTransport
) -> None:
    created = acme.post(PATH, unconfirmed())

    answers = confirms(acme, created["id"], {}, times=20)

    assert [answer["status"] for answer in answers if answer.status == 200] == ["succeeded"]
    assert {answer.status for answer in answers} <= {200, 400, 409}
    assert_charged_once(acme)


@pytest.mark.parametrize("turn", range(2))
def test_confirms_of_a_stored_card_that_is_declined_are_declined_or_refused(
    turn: int, acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post(PATH, unconfirmed(DECLINED_CARD))

    answers = confirms(acme, created["id"], {}, times=20)

    declined = [answer for answer in answers if answer.status == 200]
    others = {answer.refusal for answer in answers if answer.status != 200}
    assert [answer["status"] for answer in declined] == ["requires_payment_method"]
    missing = (400, "parameter_missing", "payment_method_data")
    assert others <= {(409, "lock_timeout", None), missing}


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_an_update_that_meets_a_confirm_is_charged_or_refused(
    turn: int, acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{acme.post(PATH, CREATE)['id']}"
    door, twin = f"{path}/confirm", acme.twin()

    updated, confirmed = at_once(
        [lambda: twin.post(path, {"amount": 9900}), lambda: acme.post(door, confirmation())]
    )

    assert (updated.status, confirmed.status) in [(200, 200), (409, 200), (400, 200)]
    amount = 9900 if updated.status == 200 else 12500
    assert acme.get(path)["amount"] == acme.get(path)["amount_charged"] == amount
    assert captured_by_bank(acme) == acme.pending() == amount


def test_events_of_a_race_have_no_gap(acme: ApiClient, slow_bank: BankTransport) -> None:
    created = acme.post(PATH, CREATE)

    confirms(acme, created["id"], confirmation(), times=10)

    assert [event["sequence"] for event in acme.events_of(created["id"])] == [1, 2]


def test_the_check_sees_a_key_that_is_not_unique(
    acme: ApiClient, slow_bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "begin", then_wait(idempotency.begin))
    guard = "an_idempotency_key_is_used_once_per_merchant"

    with dropped("merchants_idempotencykey", guard):
        one_key(acme, times=5)

    assert captured_by_bank(acme) > 12500
    with pytest.raises(AssertionError):
        assert_charged_once(acme)


def test_the_check_sees_a_missing_lock_and_index(
    acme: ApiClient, slow_bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = acme.post(PATH, CREATE)
    monkeypatch.setattr(MerchantRows, "lock", lambda rows, row_id: rows.find(row_id))
    slow = then_wait(confirming._require_confirmable)
    monkeypatch.setattr(confirming, "_require_confirmable", slow)

    with dropped("intents_attempt", "one_open_or_successful_attempt_per_payment"):
        confirms(acme, created["id"], confirmation(), times=5)
        # Attempts name the merchant of a real bank's order, and go with the block.
        charged = captured_by_bank(acme)
        with pytest.raises(AssertionError):
            assert_charged_once(acme)

    assert charged > 12500


def test_the_index_alone_keeps_the_bank_from_charging_twice(
    acme: ApiClient, slow_bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = acme.post(PATH, CREATE)
    monkeypatch.setattr(MerchantRows, "lock", lambda rows, row_id: rows.find(row_id))
    slow = then_wait(confirming._require_confirmable)
    monkeypatch.setattr(confirming, "_require_confirmable", slow)

    confirms(acme, created["id"], confirmation(), times=5)

    assert_charged_once(acme)


def test_a_confirm_that_waits_in_vain_does_not_cost_the_payer_the_cvc(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = acme.post(PATH, unconfirmed())["id"]
    real = MerchantRows.lock
    monkeypatch.setattr(MerchantRows, "lock", lambda *row: _wait_shortly() or real(*row))
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1 FROM intents_paymentintent FOR UPDATE")
        assert acme.post(f"{PATH}/{payment_id}/confirm").refusal == (409, "lock_timeout", None)

    assert acme.post(f"{PATH}/{payment_id}/confirm")["status"] == "succeeded"


def _wait_shortly() -> None:
    # In this transaction alone: the session may be another test's behind it.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '100ms'")


@pytest.mark.skipif(
    settings.BEHIND_POOLER, reason="PgBouncer may hand out a session that has just ended"
)
def test_a_restarted_database_costs_no_request(acme: ApiClient) -> None:
    acme.get("/v1/balance")
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    assert acme.get("/v1/balance").status == 200
