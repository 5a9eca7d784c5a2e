"""kill -9 of a web worker during a capture or a cancellation, in real processes (I3, I7, I8)."""

from functools import partial
from typing import NamedTuple

import pytest

from payments.intents.models import Modification, PaymentIntent
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.client import ApiClient
from tests.stage.kills import (
    BOUNDARIES,
    PROOF_OF_KILLS,
    Installation,
    retried,
    until,
    until_believed,
    until_swept,
)
from tests.stage.lengths import one_of_all
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change

pytestmark = [pytest.mark.both_banks, *PROOF_OF_KILLS]


class Done(NamedTuple):
    """The right end of an operation: the payment's status, the bank's state and captured amount."""

    status: str
    at_the_bank: str
    captured: int


OPERATIONS = {
    "capture": Done("succeeded", "authorized", 12500),
    "cancel": Done("canceled", "voided", 0),
}
NOT_DONE = Done("requires_capture", "authorized", 0)
UNTIL_THEN = ["requires_confirmation", "requires_capture"]


@pytest.fixture
def payment_id(installation: Installation, acme: ApiClient) -> str:
    """A payment of 125.00 that awaits its capture."""
    return acme.pay(capture_method="manual")["id"]


def status(payment_id: str) -> str:
    return PaymentIntent.objects.get(id=payment_id).status


def assert_ended_at_the_bank(done: Done) -> None:
    row = bank_books.order()
    assert (row.state, row.captured_amount) == (done.at_the_bank, done.captured)


def assert_ended(payment_id: str, done: Done, *told: str) -> None:
    assert_ended_at_the_bank(done)
    assert assert_charged_at_most_once(payment_id) == done.captured
    assert assert_one_event_per_change(payment_id) == [*UNTIL_THEN, *told, done.status]
    assert_audit_is_clean()


@pytest.mark.parametrize(
    ("boundary", "operation"),
    one_of_all(BOUNDARIES, OPERATIONS, short=("after_the_bank_answered", "capture")),
)
def test_after_a_kill_the_retry_finishes_it(
    boundary: str, operation: str, payment_id: str, installation: Installation, acme: ApiClient
) -> None:
    ask = partial(installation.ask, acme, payment_id, operation)
    installation.start(boundary)
    installation.dies_during(ask)

    answer = retried(ask)

    if not installation.repeats:
        # Nothing is sent again to such a bank: the retry asks it, until it knows.
        if boundary == BOUNDARIES[0]:
            assert answer.json()["status"] == "processing"
            assert_ended_at_the_bank(NOT_DONE)
            return
        until(lambda: ask().json()["status"] == OPERATIONS[operation].status)
        answer = ask()
    assert answer.json()["status"] == OPERATIONS[operation].status
    assert ask().content == answer.content
    assert_ended(payment_id, OPERATIONS[operation])


@pytest.mark.parametrize(
    ("boundary", "operation"),
    one_of_all(BOUNDARIES[1:], OPERATIONS, short=("while_the_bank_works", "cancel")),
)
def test_after_a_kill_the_sweeper_alone_resolves_it(
    boundary: str, operation: str, payment_id: str, installation: Installation, acme: ApiClient
) -> None:
    ask, done = partial(installation.ask, acme, payment_id, operation), OPERATIONS[operation]
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(ask)

    until_swept(lambda: status(payment_id) == done.status)

    assert_ended(payment_id, done)
    assert ask().json()["status"] == done.status
    assert_ended(payment_id, done)


@pytest.mark.only_full("refunds die at this boundary too")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_the_bank_was_never_asked_for_is_not_done_without_a_retry(
    operation: str, payment_id: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_first_transaction")
    installation.start_sweeper()
    installation.dies_during(partial(installation.ask, acme, payment_id, operation))
    until(lambda: status(payment_id) == "processing")

    until_believed(lambda: status(payment_id) == "requires_capture")
    assert_ended(payment_id, NOT_DONE, "processing")
    again = acme.post(f"/v1/payment_intents/{payment_id}/{operation}")
    assert again["status"] == OPERATIONS[operation].status
    assert_ended(payment_id, OPERATIONS[operation], "processing", "requires_capture")


@pytest.mark.planted
def test_the_check_sees_a_service_that_forgets_its_operation(
    payment_id: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_bank_answered")
    installation.dies_during(partial(installation.ask, acme, payment_id, "capture"))
    Modification.objects.all().delete()

    with pytest.raises((AssertionError, SystemExit)):
        assert_ended(payment_id, NOT_DONE)
