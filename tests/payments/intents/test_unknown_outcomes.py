"""A bank that does not say: the payment waits, the bank is asked again, one charge at most."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from acquirers.conversation import settling, sweeper
from core import clock
from payments.bank import attempts
from payments.charging import tasks
from payments.intents import deadlines
from payments.intents.models import Attempt, Modification, PaymentIntent
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import confirmation
from tests.stage.sweeper import on_one_thread_each, sweep_after
from tests.stage.threads import together

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
CHARGED, NOT_CHARGED, NEVER_KNOWN = "4000001100000017", "4000001100000025", "4000001100000058"
SLOTS = attempts.KIND.slots
LATER_YES, LATER_NO = "4000001100000033", "4000001100000041"
PROCESSING_ERROR = "4000000000000119"
DAY = 86_400


# --- The cards of contract 11 -----------------------------------------------------------------


@pytest.mark.parametrize("number", [CHARGED, LATER_YES])
def test_a_late_yes_is_charged_once(number: str, acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(number)
    assert (paid["status"], acme.pending()) == ("processing", 0)

    sweep_after(10)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500
    assert acme.told(paid["id"]) == ["created", "processing", "succeeded"]


@pytest.mark.parametrize("number", [NOT_CHARGED, LATER_NO])
def test_a_late_no_fails_the_payment(number: str, acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(number)
    assert paid["status"] == "processing"

    sweep_after(10)

    failed = acme.payment(paid["id"])
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["decline_code"] == "do_not_honor"
    assert captured_by_bank(acme) == acme.pending() == 0
    assert acme.told(paid["id"]) == ["created", "processing", "payment_failed"]


def test_a_bank_that_never_knows_leaves_the_payment_processing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(NEVER_KNOWN)

    for _ in range(12):
        sweep_after(DAY)

    assert acme.payment(paid["id"])["status"] == "processing"
    assert acme.told(paid["id"]) == ["created", "processing"]
    assert bank.inquiries_seen() == 12


def test_a_processing_error_is_a_decline(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(PROCESSING_ERROR)

    assert paid["status"] == "requires_payment_method"
    assert paid["last_payment_error"]["advice_code"] == "try_again_later"


def test_before_its_five_seconds_the_bank_still_says_pending(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(LATER_YES)
    Attempt.objects.update(due_at=clock.now())

    sweep_after(3)
    assert PaymentIntent.objects.get().status == "processing"

    sweep_after(30)
    assert PaymentIntent.objects.get().status == "succeeded"


def test_a_late_yes_to_a_manual_capture_awaits_the_capture(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(CHARGED, capture_method="manual")

    sweep_after(10)

    assert acme.payment(paid["id"])["amount_capturable"] == 12500
    assert acme.told(paid["id"])[-1] == "amount_capturable_updated"
    assert captured_by_bank(acme) == acme.pending() == 0


def test_the_late_event_tells_what_it_changed_and_who_began_it(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(CHARGED)
    sweep_after(10)

    created, processing, succeeded = acme.events_of(paid["id"])

    assert succeeded["data"]["previous_attributes"]["status"] == "processing"
    assert succeeded["data"]["object"] == acme.payment(paid["id"]).body
    began = paid.headers["Request-Id"]
    assert {created["request_id"], processing["request_id"], succeeded["request_id"]} == {began}
    assert [created["sequence"], processing["sequence"], succeeded["sequence"]] == [1, 2, 3]


def test_a_payment_that_is_processing_is_not_confirmed_again(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(CHARGED)

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation())

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert answer.error["payment_intent"]["status"] == "processing"
    assert len(bank_books.orders()) == 1


# --- When the bank is asked -------------------------------------------------------------------


def test_the_bank_is_asked_less_and_less_often(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay(NEVER_KNOWN)
    waits = [10, 30, 120, 600, 3600, 21_600, DAY, DAY, DAY]

    for times, wait in enumerate(waits):
        sweep_after(wait - 2)
        assert bank.inquiries_seen() == times, f"too early for the inquiry after {wait} s"
        sweep_after(2)
        assert bank.inquiries_seen() == times + 1


def test_a_payment_whose_request_is_at_work_is_left_alone(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = settling.settle

    def sweeping(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(settling, "settle", real)
        sweep_after(DAY)
        return real(*arguments, **options)

    monkeypatch.setattr(settling, "settle", sweeping)

    assert acme.pay()["status"] == "succeeded"
    assert bank.inquiries_seen() == 0


def test_a_payment_that_cannot_be_resolved_now_does_not_hold_up_the_others(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, free = acme.pay(CHARGED)["id"], acme.pay(CHARGED)["id"]
    real = settling.settle

    def settle(kind: Any, attempt: Attempt, *rest: Any) -> Any:
        if attempt.intent_id == stuck:
            raise OperationalError("canceling statement due to lock timeout")
        return real(kind, attempt, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(settling, "settle", settle)
        sweep_after(10)
    assert acme.payment(free)["status"] == "succeeded"

    sweep_after(30)
    assert acme.payment(stuck)["status"] == "succeeded"


def test_an_error_before_the_bank_is_asked_about_one_does_not_hold_up_the_others(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.pay(capture_method="manual")
    unknown = acme.pay(CHARGED)
    Attempt.objects.filter(status="authorized").update(due_at=clock.now())
    monkeypatch.setattr(deadlines, "expires_at", lambda row: row.asked_at)
    monkeypatch.delattr(attempts, "_expire")

    sweep_after(10)

    assert acme.payment(unknown["id"])["status"] == "succeeded"
    assert not Attempt.objects.filter(lease_until__isnull=False).exists()


def test_an_answer_under_way_is_applied_although_the_database_was_away_meanwhile(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = acme.pay(CHARGED)
    look = sweeper._lease_due

    def away_for_modifications(kind: Any, count: int) -> list[Any]:
        if kind.model is Modification:
            raise OperationalError
        return look(kind, count)

    monkeypatch.setattr(sweeper, "_lease_due", away_for_modifications)

    sweep_after(10)

    assert acme.payment(unknown["id"])["status"] == "succeeded"


def test_more_payments_than_are_asked_at_once_are_all_resolved(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = [acme.pay(CHARGED)["id"] for _ in range(SLOTS + 3)]

    sweep_after(10)

    assert PaymentIntent.objects.filter(status="succeeded").count() == len(paid)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_sweepers_beside_each_other_ask_and_resolve_once(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = [acme.pay(CHARGED)["id"] for _ in range(10)]
    clock.advance(timedelta(seconds=10))
    bank.pause_seconds = 0.05

    with on_one_thread_each():
        together([tasks.resolve_unknown] * 4)

    assert bank.inquiries_seen() == len(paid)
    assert acme.pending() == captured_by_bank(acme) == 12500 * len(paid)
    assert all(acme.told(one) == ["created", "processing", "succeeded"] for one in paid)


# --- "No record" ------------------------------------------------------------------------------


def pay_into_the_void(client: ApiClient, bank: BankTransport) -> str:
    """A request that leaves and never arrives: the bank will have no record."""
    bank.fault = "lost"
    paid = client.pay()
    bank.fault = None
    assert paid["status"] == "processing"
    return paid["id"]


def test_no_record_is_believed_the_third_time(acme: ApiClient, bank: BankTransport) -> None:
    paid = pay_into_the_void(acme, bank)

    # 10 s and 40 s after: too early to count. Then 160 s, 760 s, 4,360 s after.
    for wait in (10, 30, 120, 600):
        sweep_after(wait)
        assert acme.payment(paid)["status"] == "processing"
    sweep_after(3600)

    failed = acme.payment(paid)
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["reason"] == "processing_error"
    assert acme.told(paid) == ["created", "processing", "payment_failed"]
    assert bank.inquiries_seen() == 5


def test_an_early_no_record_does_not_count(acme: ApiClient, bank: BankTransport) -> None:
    pay_into_the_void(acme, bank)

    for _ in range(5):
        Attempt.objects.update(due_at=clock.now())
        sweep_after(10)

    assert bank.inquiries_seen() == 5
    assert PaymentIntent.objects.get().status == "processing"


@pytest.mark.parametrize("seconds", [90, 400])
def test_many_questions_within_a_moment_are_one_piece_of_evidence(
    seconds: int, acme: ApiClient, bank: BankTransport
) -> None:
    paid = pay_into_the_void(acme, bank)
    sweep_after(seconds)

    for _ in range(5):
        answer = acme.post(f"{PATH}/{paid}/cancel", {})
        assert answer.refusal[:2] == (400, "payment_intent_unexpected_state")

    assert acme.payment(paid)["status"] == "processing"


def test_after_no_record_another_card_may_be_tried(acme: ApiClient, bank: BankTransport) -> None:
    paid = pay_into_the_void(acme, bank)
    for _ in range(3):
        sweep_after(DAY)

    answer = acme.post(f"{PATH}/{paid}/confirm", confirmation())

    assert answer["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500
