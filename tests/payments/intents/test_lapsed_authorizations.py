"""An authorisation lives for seven days from when its bank was asked for it (contract 3).

A capture of one that has lapsed at the bank cancels the payment.
"""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from core import clock
from payments.bank import authorization, modifications
from payments.intents import deadlines
from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean, audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import payment
from tests.stage.sweeper import Died, dies, leases_run_out, sweep, sweep_after
from tests.stage.walks import PATH, SECURE, WEEK, Walk

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

CAPTURE_FAILS = "4000001100000066"
DAY, HOUR = 86_400, 3_600


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Iterator[None]:
    yield
    assert_audit_is_clean()


@pytest.fixture
def lapsed(acme: ApiClient, bank: BankTransport) -> Walk:
    """A payment whose bank lets go before its seven days: a minute is left, by our clock."""
    walk = Walk(acme, bank).pay(**MANUAL)
    assert walk.status == "requires_capture"
    bank_books.make_older(bank_books.order().reference, timedelta(seconds=600))
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


# --- The seven days ---------------------------------------------------------------------------


@pytest.fixture
def heard_late(acme: ApiClient, bank: BankTransport) -> Walk:
    """A payment of whose authorisation we heard three days after the bank was asked for it."""
    walk = Walk(acme, bank).cut_off("cut_after").pay(**MANUAL).reach_again().sweep(3 * DAY)
    assert walk.status == "requires_capture"
    return walk


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_seven_days_count_from_the_request_and_not_from_its_late_answer(heard_late: Walk) -> None:
    heard_late.sweep(4 * DAY - 60)
    assert heard_late.status == "requires_capture"

    heard_late.sweep(60)

    assert_expired(heard_late)


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_after_a_late_answer_nothing_is_captured_that_the_bank_let_go(heard_late: Walk) -> None:
    clock.advance(timedelta(days=4))

    assert heard_late.capture().answered.refusal == (400, "capture_expired", None)
    sweep()


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_the_audit_knows_that_an_authorization_is_over_before_the_sweeper_does(
    heard_late: Walk,
) -> None:
    clock.advance(timedelta(days=4, seconds=60))
    # A sweeper that could not lock the payment comes back by the schedule.
    Attempt.objects.update(due_at=clock.now() + timedelta(hours=6))

    # The command alone: the bank has let go of money that the payment still shows.
    status, said = audit()
    assert status == 0, said

    heard_late.sweep(6 * HOUR)


def test_the_seven_days_begin_when_the_payer_has_come_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    walk = Walk(acme, bank).pay(**MANUAL, **SECURE)
    clock.advance(timedelta(minutes=50))
    walk.come_back()

    walk.sweep(WEEK - 60)
    assert walk.status == "requires_capture"

    walk.sweep(60)
    assert walk.shown()["cancellation_reason"] == "expired"


@pytest.mark.at_the_sandbox("about our own row")
@pytest.mark.parametrize(("md_status", "begins"), [("1", "asked_at"), (None, "created_at")])
def test_what_a_gate_may_have_charged_before_the_payers_return_ends_before(
    acme: ApiClient, bank: BankTransport, md_status: str | None, begins: str
) -> None:
    Walk(acme, bank).pay(**MANUAL, **SECURE).come_back()
    Attempt.objects.update(md_status=md_status, asked_at=clock.now() + timedelta(minutes=50))

    attempt = Attempt.objects.get()

    assert deadlines.expires_at(attempt) == getattr(attempt, begins) + timedelta(days=7)


@pytest.mark.at_the_sandbox("other banks get no second request by a reference")
def test_the_seven_days_of_what_is_sent_again_begin_with_the_second_request(
    acme: ApiClient, bank: BankTransport
) -> None:
    walk, sent = Walk(acme, bank), payment(**MANUAL)
    with dies(authorization, "order_to_pay"), pytest.raises(Died):
        acme.post(PATH, sent, idempotency_key="k")
    leases_run_out()
    clock.advance(timedelta(days=2))
    walk.payment_id = acme.post(PATH, sent, idempotency_key="k")["id"]
    assert walk.status == "requires_capture"

    walk.sweep(WEEK - 60)
    assert walk.status == "requires_capture"

    walk.sweep(60)
    assert walk.shown()["cancellation_reason"] == "expired"


# --- A bank that lets go earlier --------------------------------------------------------------


@pytest.mark.at_the_sandbox("other banks do not say why nothing can be captured: they are asked")
def test_a_capture_that_comes_too_late_for_the_bank_cancels_the_payment(lapsed: Walk) -> None:
    lapsed.capture()

    assert (lapsed.answered.status, lapsed.answered["status"]) == (200, "canceled")
    assert_expired(lapsed)


@pytest.mark.at_the_sandbox("other banks do not say why nothing can be captured: they are asked")
def test_its_retry_hears_the_same(lapsed: Walk) -> None:
    path = f"/v1/payment_intents/{lapsed.payment_id}/capture"

    first, again = (lapsed.shop.post(path, idempotency_key="k") for _ in range(2))

    assert (again.status, again.body) == (200, first.body)
    assert again["status"] == "canceled"


@pytest.mark.at_the_sandbox("other banks do not say why nothing can be captured: they are asked")
def test_a_capture_that_died_on_its_way_is_canceled_by_the_sweeper(lapsed: Walk) -> None:
    with dies(modifications, "_void"), pytest.raises(Died):
        lapsed.capture()
    leases_run_out()

    sweep_after(10)

    assert_expired(lapsed)


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
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
