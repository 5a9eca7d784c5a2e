"""A capture of an authorisation that lapsed at the bank cancels the payment (contract 3)."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from core import clock
from payments.intents import modifications
from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.walks import WEEK, Walk

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

CAPTURE_FAILS = "4000001100000066"


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Iterator[None]:
    yield
    assert_audit_is_clean()


@pytest.fixture
def lapsed(acme: ApiClient, bank: BankTransport) -> Walk:
    """A payment of whose authorisation we heard late: a minute is left of it, by our clock."""
    walk = Walk(acme, bank)
    walk.cut_off("cut_after").pay(**MANUAL).reach_again().sweep(600)
    assert walk.status == "requires_capture"
    clock.advance(timedelta(seconds=WEEK - 60))
    return walk


def assert_expired(walk: Walk) -> None:
    shown, attempt = walk.shown(), Attempt.objects.get()
    assert (shown["status"], shown["cancellation_reason"]) == ("canceled", "expired")
    assert (shown["last_payment_error"], shown["amount_capturable"]) == (None, 0)
    assert walk.moves()[-1].event == "payment_intent.canceled"
    assert (attempt.status, attempt.error) == ("canceled", None)
    assert not attempt.modifications.filter(status="processing").exists()
    assert bank_books.order().state == "lapsed"


@pytest.mark.at_the_sandbox("the old bank does not say why nothing can be captured: it is asked")
def test_a_capture_that_comes_too_late_for_the_bank_cancels_the_payment(lapsed: Walk) -> None:
    lapsed.capture()

    assert (lapsed.answered.status, lapsed.answered["status"]) == (200, "canceled")
    assert_expired(lapsed)


@pytest.mark.at_the_sandbox("the old bank does not say why nothing can be captured: it is asked")
def test_its_retry_hears_the_same(lapsed: Walk) -> None:
    path = f"/v1/payment_intents/{lapsed.payment_id}/capture"

    first, again = (lapsed.shop.post(path, idempotency_key="k") for _ in range(2))

    assert (again.status, again.body) == (200, first.body)
    assert again["status"] == "canceled"


@pytest.mark.at_the_sandbox("the old bank does not say why nothing can be captured: it is asked")
def test_a_capture_that_died_on_its_way_is_canceled_by_the_sweeper(lapsed: Walk) -> None:
    with dies(modifications, "_void"), pytest.raises(Died):
        lapsed.capture()
    leases_run_out()

    sweep_after(10)

    assert_expired(lapsed)


def test_a_capture_without_an_answer_ends_the_same_way(lapsed: Walk) -> None:
    lapsed.cut_off("cut_after").capture()
    assert lapsed.status == "processing"

    lapsed.reach_again().sweep(10)

    assert_expired(lapsed)


def test_a_capture_that_is_refused_while_the_money_is_held_fails_the_payment(
    acme: ApiClient, bank: BankTransport
) -> None:
    walk = Walk(acme, bank).pay(CAPTURE_FAILS, **MANUAL)

    walk.capture()

    assert walk.status == "requires_payment_method"
    assert Attempt.objects.get().error["code"] == "processing_error"
