"""A limit per day gets back what was not paid: once, and on the day that counted it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from acquirers.conversation import settling
from acquirers.outcomes import Answer, Outcome
from audit import queries
from payments.bank import attempts
from payments.charging import confirmation
from payments.intents import non_secure
from payments.intents.models import Attempt, NonSecureDay
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, SILENT_CARD, payment
from tests.stage.non_secure_days import ONE, PATH, advance_to, left_open, limit, pay, taken
from tests.stage.sweeper import sweep_after
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

SOFT_DECLINED, CAPTURE_FAILS = "4000002760003184", "4000001100000066"


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    """Acme, which may take four payments a day without 3-D Secure; at noon."""
    advance_to(12, 0)
    limit(acme, 4 * ONE)
    return acme


def test_a_declined_payment_gives_back_what_it_took(shop: ApiClient) -> None:
    pay(shop)
    pay(shop, DECLINED_CARD)

    assert taken() == ONE
    assert_our_own_books_agree()


def test_a_soft_decline_is_given_back_and_its_successor_takes_nothing(shop: ApiClient) -> None:
    assert pay(shop, SOFT_DECLINED) == "requires_action"

    assert taken() == 0
    assert Attempt.objects.count() == 2
    assert_our_own_books_agree()


def test_a_canceled_authorisation_is_given_back(shop: ApiClient) -> None:
    held = shop.pay(capture_method="manual")["id"]
    assert taken() == ONE

    shop.post(f"{PATH}/{held}/cancel", {})

    assert taken() == 0
    assert_our_own_books_agree()


def test_a_refused_capture_is_given_back(shop: ApiClient) -> None:
    held = shop.pay(CAPTURE_FAILS, capture_method="manual")["id"]

    shop.post(f"{PATH}/{held}/capture", {})

    assert Attempt.objects.get().status == "failed"
    assert taken() == 0
    assert_our_own_books_agree()


def test_an_unknown_outcome_keeps_its_part_until_it_is_known(shop: ApiClient) -> None:
    assert pay(shop, SILENT_CARD) == "processing"
    assert taken() == ONE

    for wait in (10, 3600, 3600, 86_400):
        sweep_after(wait)

    assert_our_own_books_agree()
    status = Attempt.objects.get().status
    assert taken() == (ONE if status == "succeeded" else 0)


def test_what_is_heard_twice_is_given_back_once(shop: ApiClient) -> None:
    pay(shop)
    pay(shop, DECLINED_CARD)
    declined = Attempt.objects.get(status="failed")

    for _ in range(2):
        settling.settle(attempts.KIND, declined, Outcome(Answer.DECLINED))

    assert taken() == ONE


def test_two_that_hear_at_once_give_back_once(shop: ApiClient) -> None:
    pay(shop)
    attempt = left_open(shop)
    assert taken() == 2 * ONE

    together([lambda: settling.settle(attempts.KIND, attempt, Outcome(Answer.DECLINED))] * 8)

    assert taken() == ONE
    assert_our_own_books_agree()


def test_the_database_refuses_what_is_given_back_twice(shop: ApiClient) -> None:
    pay(shop)
    attempt = Attempt.objects.get()

    non_secure.take_off(attempt)
    with pytest.raises(IntegrityError), transaction.atomic():
        non_secure.take_off(attempt)


# --- Rolled back, and audited -----------------------------------------------------------------


def test_a_payment_that_is_not_written_takes_nothing(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(shop)
    with monkeypatch.context() as patched:
        patched.setattr(confirmation.rows, "insert", fail(confirmation.rows.insert))
        assert shop.post(PATH, payment()).status == 500

    assert taken() == ONE
    assert_our_own_books_agree()


def fail(insert: Callable[..., None]) -> Callable[..., None]:
    def inserted(row: Any) -> None:
        if isinstance(row, Attempt):
            raise RuntimeError("a bug")
        insert(row)

    return inserted


@pytest.mark.parametrize("planted", [1, -1])
def test_the_audit_names_a_day_that_counts_otherwise(planted: int, shop: ApiClient) -> None:
    pay(shop)
    NonSecureDay.objects.update(taken=F("taken") + planted)

    [said] = differences()

    assert shop.merchant.id in said
    assert f"counted {ONE + planted} try" in said


def test_the_audit_names_a_failure_that_was_not_given_back(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(non_secure, "take_off", lambda _attempt: None)
    pay(shop, DECLINED_CARD)

    assert len(differences()) == 1


def differences() -> list[str]:
    name = "days without 3-D Secure count their attempts"
    _counted, different = queries.QUERIES[name]
    with connection.cursor() as cursor:
        cursor.execute(different)
        return [sentence for [sentence] in cursor.fetchall()]
