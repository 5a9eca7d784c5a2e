"""kill -9 during a payment in installments: it goes on with the same count and surcharge (I8)."""

import pytest
import requests

from payments.intents.models import Attempt, PaymentIntent
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.client import ApiClient
from tests.stage.kills import (
    BOUNDARIES,
    PROOF_OF_KILLS,
    Installation,
    retried,
    until,
    until_swept,
)
from tests.stage.lengths import length
from tests.stage.plans import BONUS, agree, plan
from tests.stage.stories import assert_charged_at_most_once

pytestmark = [pytest.mark.both_banks, *PROOF_OF_KILLS]


@pytest.fixture(autouse=True)
def _plans(installation: Installation, acme: ApiClient) -> None:
    agree(acme.merchant, plan(3, 500, program="bonus"))


def pay(installation: Installation, client: ApiClient) -> requests.Response:
    terms = {"amount": 12_000, "installments": 3, "surcharge": 600}
    return installation.pay(client, BONUS, **terms)


def assert_charged_in_three() -> None:
    attempt, shown = Attempt.objects.get(), PaymentIntent.objects.get()
    assert (attempt.installments, attempt.surcharge, attempt.surcharge_rate_bps) == (3, 600, 500)
    assert (shown.installments, shown.surcharge) == (3, 600)
    assert assert_charged_at_most_once(shown.id) == bank_books.order().amount == 12_600
    assert_audit_is_clean()


@pytest.mark.parametrize("boundary", length(short=["after_the_bank_answered"], full=BOUNDARIES))
def test_after_a_kill_the_retry_goes_on_although_the_plan_is_gone(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.dies_during(lambda: pay(installation, acme))
    agree(acme.merchant)

    answer = retried(lambda: pay(installation, acme))

    if not installation.repeats:
        # Nothing is sent again to such a bank: the retry asks it, until it knows.
        if boundary == BOUNDARIES[0]:
            assert (answer.json()["status"], bank_books.orders()) == ("processing", [])
            return
        until(lambda: pay(installation, acme).json()["status"] == "succeeded")
        answer = pay(installation, acme)
    assert (answer.json()["status"], answer.json()["surcharge"]) == ("succeeded", 600)
    assert_charged_in_three()


@pytest.mark.only_full("the sweeper goes on from what the retry does")
@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_after_a_kill_the_sweeper_goes_on_although_the_plan_is_gone(
    boundary: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(lambda: pay(installation, acme))
    agree(acme.merchant)

    until_swept(lambda: PaymentIntent.objects.get().status == "succeeded")

    assert_charged_in_three()
