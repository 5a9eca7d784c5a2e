"""Captures that the bank writes down after three times "no record": their money is booked.

The payment is `requires_capture` by then. A release is refused, because the money was taken.
"""

from collections.abc import Iterator

import pytest

from payments.intents.models import Modification
from testbank.garanti.terminals import FIRST as GARANTI
from testbank.nestpay.terminals import FIRST as NESTPAY
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.client import Answer, ApiClient
from tests.stage.doors import MANUAL
from tests.stage.garanti.way import garanti_behind
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.protocol_way import ProtocolWay
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.undecided import does_it_late

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
BANKS = {"nestpay": lambda: nestpay_behind(NESTPAY), "garanti": lambda: garanti_behind(GARANTI)}
SEVEN_DAYS = 7 * 86_400


@pytest.fixture(params=sorted(BANKS))
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    with BANKS[request.param]() as way:
        begin_at_noon()
        yield way


@pytest.fixture
def paid(acme: ApiClient, bank: ProtocolWay) -> Answer:
    """Return a payment whose capture the bank has written down after it was given up."""
    held = acme.pay(**MANUAL)
    bank.fault = "lost"
    acme.post(f"{PATH}/{held['id']}/capture", {})
    bank.fault = None
    for seconds in (10, 30, 120, 600, 3600):
        sweep_after(seconds)
    assert acme.payment(held["id"])["status"] == "requires_capture"
    does_it_late(bank)
    end_the_day()
    return held


def test_a_cancel_that_finds_the_money_taken_fails_and_the_capture_is_booked(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    answer = acme.post(f"{PATH}/{paid['id']}/cancel", {}, idempotency_key="k")
    assert answer.refusal[:2] == (400, "cancel_failed")

    sweep()

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert Modification.objects.get(kind="capture").status == "succeeded"
    assert acme.pending() == 12500
    assert_audit_is_clean()
    assert acme.post(f"{PATH}/{paid['id']}/cancel", {}, idempotency_key="k").body == answer.body


def test_an_authorisation_that_expires_with_its_money_taken_is_booked(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    sweep_after(SEVEN_DAYS)
    for _ in range(3):
        sweep_after(60)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert_audit_is_clean()


def test_a_capture_that_was_booked_late_is_asked_about_no_more(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    acme.post(f"{PATH}/{paid['id']}/cancel", {})
    sweep()

    assert Modification.objects.get(kind="capture").due_at is None
