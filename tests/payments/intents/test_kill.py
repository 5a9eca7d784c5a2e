"""kill -9 of a web worker at every boundary of a payment, in real processes (I3, I7, I8)."""

import os

import pytest

from events.models import Event
from payments.intents.models import Attempt, NonSecureDay, PaymentIntent
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.kills import (
    BOUNDARIES,
    PROOF_OF_KILLS,
    Installation,
    retried,
    until,
    until_believed,
    until_swept,
)
from tests.stage.lengths import length

pytestmark = [pytest.mark.both_banks, *PROOF_OF_KILLS]


def status() -> str:
    return PaymentIntent.objects.get().status


def assert_charged_once(client: ApiClient) -> None:
    assert len(bank_books.orders()) == Attempt.objects.count() == 1
    assert captured_by_bank(client) == client.pending() == 12500
    assert Event.objects.filter(type="payment_intent.succeeded").count() == 1
    assert_audit_is_clean()


@pytest.mark.parametrize("boundary", length(short=["after_the_bank_answered"], full=BOUNDARIES))
def test_after_a_kill_the_retry_charges_once(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.dies_during(lambda: installation.pay(acme))

    answer = retried(lambda: installation.pay(acme))

    if not installation.repeats:
        # Nothing is sent again to such a bank: the retry asks it, until it knows.
        if boundary == BOUNDARIES[0]:
            assert (answer.json()["status"], bank_books.orders()) == ("processing", [])
            return
        until(lambda: installation.pay(acme).json()["status"] == "succeeded")
        answer = installation.pay(acme)
    assert answer.json()["status"] == "succeeded"
    assert installation.pay(acme).content == answer.content
    assert_charged_once(acme)


@pytest.mark.parametrize("boundary", length(short=["while_the_bank_works"], full=BOUNDARIES[1:]))
def test_after_a_kill_the_sweeper_alone_resolves_it(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(lambda: installation.pay(acme))

    until_swept(lambda: status() == "succeeded")

    assert_charged_once(acme)
    assert installation.pay(acme).json()["status"] == "succeeded"
    assert_charged_once(acme)


@pytest.mark.only_full("a decline is resolved as a charge is")
@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_after_a_kill_a_decline_is_given_back_to_its_day_once(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    acme.merchant.non_secure_limits.filter(currency="try").update(per_day=20_000)
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(lambda: installation.pay(acme, DECLINED_CARD))

    until_swept(lambda: status() == "requires_payment_method")

    assert NonSecureDay.objects.get().taken == 0
    assert retried(lambda: installation.pay(acme, DECLINED_CARD)).status_code == 200
    assert NonSecureDay.objects.get().taken == 0
    assert_audit_is_clean()


@pytest.mark.only_full("refunds die at this boundary too")
def test_what_never_reached_the_bank_is_never_charged_without_a_retry(
    installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_first_transaction")
    installation.start_sweeper()
    installation.dies_during(lambda: installation.pay(acme))
    until(lambda: status() == "processing")

    until_believed(lambda: status() == "requires_payment_method")
    assert len(bank_books.orders()) == captured_by_bank(acme) == acme.pending() == 0
    assert_audit_is_clean()


@pytest.mark.planted
def test_the_check_sees_a_service_that_forgets_its_attempt(
    installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_bank_answered")
    installation.dies_during(lambda: installation.pay(acme))
    Attempt.objects.all().delete()

    with pytest.raises((AssertionError, SystemExit)):
        assert_charged_once(acme)


@pytest.mark.only_full("each kill in the gate asks whether somebody died")
def test_a_worker_that_nobody_kills_answers(installation: Installation, acme: ApiClient) -> None:
    installation.start("before_the_answer")
    os.unlink(installation.once)

    assert installation.pay(acme).json()["status"] == "succeeded"
    assert_charged_once(acme)
