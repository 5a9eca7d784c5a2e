"""kill -9 of a web worker while a payer comes back from the bank, in real processes (I3, I7)."""

from functools import partial

import pytest

from core import clock
from payments.intents.models import Attempt, PaymentIntent
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.kills import (
    BOUNDARIES,
    PROOF_OF_KILLS,
    Call,
    Installation,
    until,
    until_believed,
    until_swept,
)
from tests.stage.lengths import length
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change
from tests.stage.threeds import challenged, decide

pytestmark = [pytest.mark.both_banks, *PROOF_OF_KILLS]

UNTIL_THEN = ["requires_confirmation", "requires_action"]


@pytest.fixture
def paid(installation: Installation, acme: ApiClient) -> Answer:
    """A payment of 125.00 whose payer is at the bank."""
    return challenged(acme)


def status() -> str:
    return PaymentIntent.objects.get().status


def assert_charged_once(paid: Answer) -> None:
    assert len(bank_books.orders()) == 1
    assert assert_charged_at_most_once(paid["id"]) == 12500
    assert assert_one_event_per_change(paid["id"]) == [*UNTIL_THEN, "succeeded"]
    assert_audit_is_clean()


def assert_changes_nothing(come_back: Call, paid: Answer, acme: ApiClient) -> None:
    before, charged = acme.payment(paid["id"]).body, len(bank_books.orders())

    again = come_back()

    shop = f"{RETURN_URL}?payment_intent={paid['id']}"
    assert (again.status_code, again.headers["Location"]) == (302, shop)
    assert acme.payment(paid["id"]).body == before
    assert len(bank_books.orders()) == charged


@pytest.mark.parametrize("boundary", length(short=["while_the_bank_works"], full=BOUNDARIES[1:]))
def test_after_a_kill_the_sweeper_alone_resolves_it(
    boundary: str, paid: Answer, installation: Installation, acme: ApiClient
) -> None:
    come_back = partial(installation.bring, decide(paid, "Approve").fields)
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(come_back)

    until_swept(lambda: status() == "succeeded")

    assert_charged_once(paid)
    assert_changes_nothing(come_back, paid, acme)
    assert_charged_once(paid)


@pytest.mark.only_full("the sweeper goes on as it does alone")
@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_a_browser_that_sends_it_again_after_a_kill_is_only_sent_back(
    boundary: str, paid: Answer, installation: Installation, acme: ApiClient
) -> None:
    come_back = partial(installation.bring, decide(paid, "Approve").fields)
    installation.start(boundary)
    installation.dies_during(come_back)
    until(lambda: bank_books.orders())  # The bank was not killed, and goes on.

    assert_changes_nothing(come_back, paid, acme)

    installation.start_sweeper()
    until_swept(lambda: status() == "succeeded")
    assert_charged_once(paid)


@pytest.mark.only_full("refunds die at this boundary too")
@pytest.mark.parametrize("times", [0, 1])
def test_what_never_reached_the_bank_is_never_charged(
    times: int, paid: Answer, installation: Installation, acme: ApiClient
) -> None:
    come_back = partial(installation.bring, decide(paid, "Approve").fields)
    installation.start("after_the_first_transaction")
    installation.dies_during(come_back)
    for _ in range(times):
        assert_changes_nothing(come_back, paid, acme)
    installation.start_sweeper()
    until(lambda: status() == "processing")

    until_believed(lambda: status() == "requires_payment_method")
    assert len(bank_books.orders()) == assert_charged_at_most_once(paid["id"]) == 0
    told = assert_one_event_per_change(paid["id"])
    assert told == [*UNTIL_THEN, "processing", "requires_payment_method"]
    assert_audit_is_clean()


@pytest.mark.planted
def test_the_check_sees_a_service_that_gives_up_without_asking(
    paid: Answer, installation: Installation
) -> None:
    installation.start("after_the_bank_answered")
    installation.dies_during(partial(installation.bring, decide(paid, "Approve").fields))
    Attempt.objects.update(status="failed", closed_at=clock.now())

    with pytest.raises((AssertionError, SystemExit)):
        assert_audit_is_clean()
    with pytest.raises(AssertionError):
        assert_charged_once(paid)
