"""Captures, cancellations and authentications that end otherwise than anybody hoped."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from acquirers.conversation import settling
from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from acquirers.three_d_secure import Redirect
from core import clock
from payments.bank import attempts, modifications
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.payer import returns
from payments.payer import three_d_secure as authenticating
from testbank import behaviours
from tests.stage import bank_books
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import RETURN_URL, confirmation, payment, three_d_secure
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.threeds import bring, challenged, decide
from tests.stage.walks import NOT_SECURE, PATH, WEEK, Walk

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

SOFT_DECLINED, CHARGED = "4000002760003184", "4000001100000017"
CAPTURE_FAILS, NOTHING_IS_RELEASED = "4000001100000066", "4000001100000074"


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Any:
    yield
    bank.fault = None
    status, said = audit()
    assert status == 0, said


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


# --- Authorisations that are over -------------------------------------------------------------


@pytest.mark.at_the_sandbox("changes the test bank's cards in this process")
def test_a_bank_that_still_holds_what_is_over_is_told_to_release_it(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behaviours, "LAPSES_AFTER", timedelta(days=30))

    walk.pay(**MANUAL).sweep(WEEK + 60)

    assert walk.shown()["cancellation_reason"] == "expired"
    assert bank_books.order().state == "voided"


def test_what_is_over_is_not_captured_while_the_bank_is_silent(walk: Walk) -> None:
    walk.pay(**MANUAL).cut_off("delay").sweep(WEEK + 60)

    assert walk.capture().answered.refusal == (400, "capture_expired", None)


def test_what_is_over_keeps_its_description_changeable(walk: Walk) -> None:
    walk.pay(**MANUAL).cut_off("delay").sweep(WEEK + 60)

    assert walk.update(description="Tea").answered.status == 200


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_what_lapsed_before_we_heard_of_it_was_not_declined(walk: Walk) -> None:
    walk.cut_off("cut_after").pay(**MANUAL)
    walk.sweep(10).reach_again().sweep(WEEK + 60)

    assert walk.shown()["last_payment_error"]["code"] == "processing_error"


# --- Refused captures -------------------------------------------------------------------------


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> str:
    """A card whose bank neither captures nor releases."""
    stubborn = replace(behaviours.CAPTURE_FAILS, refuses_void=True)
    monkeypatch.setitem(behaviours.BY_NAME, stubborn.name, stubborn)
    return CAPTURE_FAILS


@pytest.mark.at_the_sandbox("changes the test bank's cards in this process")
def test_neither_captured_nor_released_it_waits_on(stubborn: str, walk: Walk) -> None:
    walk.pay(stubborn, **MANUAL).capture()

    assert (walk.status, walk.shown()["amount_capturable"]) == ("requires_capture", 12500)


@pytest.mark.at_the_sandbox("changes the test bank's cards in this process")
def test_a_capture_that_succeeds_in_the_end_shows_no_error(
    stubborn: str, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk.pay(stubborn, **MANUAL).capture()
    monkeypatch.setitem(behaviours.BY_NAME, behaviours.CAPTURE_FAILS.name, behaviours.APPROVE)

    walk.capture()

    assert walk.status == "succeeded"
    assert Attempt.objects.get().error is None


def test_a_release_without_an_answer_leaves_nobody_waiting_for_its_lease(walk: Walk) -> None:
    walk.pay(CAPTURE_FAILS, **MANUAL)
    with dies(modifications, "_void"), pytest.raises(Died):
        walk.capture()
    leases_run_out()

    walk.cut_off("lost").sweep(10).sweep(30)

    assert Attempt.objects.get().lease_until is None
    assert walk.reach_again().sweep(120).status == "requires_payment_method"


def test_a_release_that_is_not_reached_is_asked_for_again(walk: Walk) -> None:
    walk.pay(CAPTURE_FAILS, **MANUAL)
    with dies(modifications, "_void"), pytest.raises(Died):
        walk.capture()
    leases_run_out()

    assert walk.cut_off("cut_before").sweep(10).status == "processing"
    assert walk.reach_again().sweep(30).status == "requires_payment_method"


def test_a_part_of_a_payment_in_installments_is_not_captured(walk: Walk) -> None:
    walk.pay(**MANUAL)
    PaymentIntent.objects.update(installments=2)

    refusal = walk.capture(amount_to_capture=5000).answered.refusal

    assert refusal == (400, "partial_capture_not_allowed", "amount_to_capture")
    assert walk.capture().status == "succeeded"


# --- Payments with an attempt that is given back beside one that is unknown --------------------


@pytest.mark.at_the_sandbox("changes the test bank's cards in this process")
def test_what_cannot_be_given_back_yet_is_tried_again(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk.payment_id = challenged(walk.shop, NOTHING_IS_RELEASED)["id"]
    walk.cancel()
    the_bank_charges_after_all(Attempt.objects.get())
    walk.sweep(10)
    assert "UNKNOWN" in audit()[1]

    monkeypatch.setitem(behaviours.BY_NAME, behaviours.VOID_FAILS.name, behaviours.APPROVE)
    walk.sweep(30)

    assert Modification.objects.get(kind="reverse").status == "succeeded"
    assert walk.status == "canceled"


def test_the_attempt_that_is_unknown_is_asked_about(walk: Walk) -> None:
    paid = challenged(walk.shop, NOTHING_IS_RELEASED)
    walk.payment_id, earlier = paid["id"], Attempt.objects.get()
    walk.confirm(CHARGED, **NOT_SECURE)
    the_bank_charges_after_all(earlier)

    walk.cancel()

    assert walk.answered.error["payment_intent"]["status"] == walk.status == "succeeded"


def the_bank_charges_after_all(attempt: Attempt) -> None:
    bank_books.charge(
        NOTHING_IS_RELEASED, reference=attempt.acquirer_reference, merchant=attempt.merchant_id
    )
    settling.settle(attempts.KIND, attempt, Outcome(Says.APPROVED, authorization_code="A1B2C3"))
    leases_run_out()


# --- Requests that die ------------------------------------------------------------------------


def test_a_soft_decline_that_a_retry_hears_of_too_late_fails_the_payment(
    acme: ApiClient, bank: BankTransport
) -> None:
    body = payment(SOFT_DECLINED, return_url=RETURN_URL)
    with dies(settling, "settle"), pytest.raises(Died):
        acme.post(PATH, body, idempotency_key="k")
    leases_run_out()
    bank.fault = "delay"
    sweep_after(10)  # From here on the payment is `processing`.
    bank.fault = None

    answer = acme.post(PATH, body, idempotency_key="k")

    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert answer["last_payment_error"]["code"] == "authentication_required"


def test_a_confirm_that_died_while_asking_about_the_attempt_before_is_made_by_its_retry(
    acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{challenged(acme)['id']}/confirm"
    sent = confirmation(**three_d_secure("none"))
    bank.fault = "delay"
    with dies(settling, "settle"), pytest.raises(Died):
        acme.post(path, sent, idempotency_key="k")
    leases_run_out()
    bank.fault = None

    answer = acme.post(path, sent, idempotency_key="k")

    assert answer["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500


def test_nobody_gets_between_a_payer_and_the_bank(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    with dies(returns, "_outcome"), pytest.raises(Died):
        bring(decide(paid, "Approve").fields)

    for door, body in (("/confirm", confirmation()), ("/cancel", {}), ("", {"description": "Tea"})):
        answer = acme.post(f"{PATH}/{paid['id']}{door}", body)
        assert answer.refusal == (409, "lock_timeout", None)

    assert acme.payment(paid["id"]).body == paid.body


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_a_payer_who_refused_is_told_so_although_the_request_died(
    button: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    with dies(returns, "_outcome"), pytest.raises(Died):
        bring(decide(paid, button).fields)
    leases_run_out()

    sweep_after(10)

    failed = acme.payment(paid["id"])
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["code"] == "authentication_failed"


# --- Answers that come when something else is under way ----------------------------------------


def test_an_answer_to_a_capture_does_not_end_the_cancellation_that_followed(walk: Walk) -> None:
    walk.pay(**MANUAL).cut_off("lost").capture()
    at_the_bank = Modification.objects.get()
    walk.reach_again().sweep(600, times=4)
    assert walk.cut_off("lost").cancel().status == "processing"

    settling.settle(modifications.KIND, at_the_bank, Outcome(Says.APPROVED))

    assert walk.status == "processing"
    walk.reach_again().sweep()


def test_an_answer_to_a_capture_does_not_end_the_release_that_followed_its_refusal(
    walk: Walk,
) -> None:
    walk.pay(CAPTURE_FAILS, **MANUAL)
    with dies(modifications, "_void"), pytest.raises(Died):
        walk.capture()
    as_first_asked = Modification.objects.get(kind="capture")
    as_first_asked.status = "processing"

    settling.settle(modifications.KIND, as_first_asked, Outcome(Says.APPROVED, captured=12500))

    assert Modification.objects.get(status="processing").kind == "fallback"
    leases_run_out()
    assert walk.sweep(120).status == "requires_payment_method"


@pytest.mark.parametrize("says", [Says.AUTHENTICATION_REQUIRED, Says.UNKNOWN, Says.NO_RECORD])
def test_what_was_concluded_before_the_payer_was_sent_to_the_bank_is_over(
    says: Says, walk: Walk
) -> None:
    body = payment(return_url=RETURN_URL, **three_d_secure("required"))
    with dies(authenticating, "_await_payer"), pytest.raises(Died):
        walk.shop.post(PATH, body, idempotency_key="k")
    before = Attempt.objects.get()
    leases_run_out()
    walk.payment_id = walk.shop.post(PATH, body, idempotency_key="k")["id"]

    settling.settle(attempts.KIND, before, Outcome(says))

    assert walk.status == "requires_action"


def test_a_refusal_of_one_capture_does_not_end_the_next(walk: Walk) -> None:
    walk.pay(**MANUAL).cut_off("lost").capture()
    first = Modification.objects.get()
    walk.reach_again().sweep(600, times=4)
    assert walk.cut_off("lost").capture().status == "processing"

    settling.settle(modifications.KIND, first, Outcome(Says.DECLINED))

    assert Modification.objects.get(status="processing").kind == "capture"
    walk.reach_again().sweep()


@pytest.mark.parametrize(
    ("says", "status"), [(Says.APPROVED, "succeeded"), (Says.DECLINED, "requires_payment_method")]
)
def test_the_banks_word_counts_whoever_brings_it(says: Says, status: str, walk: Walk) -> None:
    walk.cut_off("cut_after" if says is Says.APPROVED else "lost").pay()
    before = Attempt.objects.get()
    Attempt.objects.update(lease_until=clock.now())

    settling.settle(attempts.KIND, before, Outcome(says))

    assert walk.reach_again().status == status


def test_a_challenge_that_comes_after_another_was_begun_is_not_shown(walk: Walk) -> None:
    body = payment(return_url=RETURN_URL, **three_d_secure("required"))
    with dies(authenticating, "_await_payer"), pytest.raises(Died):
        walk.shop.post(PATH, body)
    before = Attempt.objects.get()
    leases_run_out()

    authenticating._await_payer(before, Redirect("https://bank.example", "tx_late", "2.2"))

    assert Attempt.objects.get().acs_url is None
