"""Approvals that the bank takes back by itself: asked once more after its day, and corrected."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from cases.models import Case
from core import clock
from payments.intents.models import Attempt, PaymentIntent
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon
from tests.stage.booked import settle_everything
from tests.stage.client import ApiClient
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.transfers import account, pay_out, sent

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHOLE, PART = 12500, 4000
DAY = 86_400
UNTIL_AFTER_THE_DAY = timedelta(hours=10, minutes=10)


@pytest.fixture
def bank(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    with old_bank_behind(old_bank) as way:
        begin_at_noon()
        yield way


@pytest.fixture
def agree(acme: ApiClient, bank: OldBankWay) -> Iterator[None]:
    """Compare the books with the bank's in the end."""
    yield
    assert_audit_is_clean(despite_unknown=True)


def learnt(client: ApiClient, bank: OldBankWay, **terms: str) -> str:
    """Pay; the bank's answer is no answer, an inquiry finds the yes, and the bank reverses it."""
    bank.bank.misbehave("timeout_reversed")
    made = client.pay(**terms)
    assert made["status"] == "processing"
    sweep_after(10)
    return made["id"]


def after_the_day() -> None:
    clock.advance(UNTIL_AFTER_THE_DAY)
    sweep()


def inquiries(bank: OldBankWay) -> int:
    return sum(kind == "History" for kind, _order, _terminal in bank.seen)


def cases() -> list[tuple[str, str]]:
    return list(Case.objects.values_list("kind", "status"))


def available_and_pending(client: ApiClient) -> int:
    shown = client.get("/v1/balance")
    rows = [*shown["available"], *shown["pending"]]
    return sum(row["amount"] for row in rows if row["currency"] == "try")


@pytest.mark.usefixtures("agree")
def test_a_captured_payment_that_the_bank_reversed_is_refunded_by_the_service(
    acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = learnt(acme, bank)
    assert acme.payment(payment_id)["status"] == "succeeded"

    after_the_day()

    [refund] = acme.get("/v1/refunds")["data"]
    told = ("method", "status", "reason", "description", "amount")
    assert [refund[name] for name in told] == [
        "void", "succeeded", None, "Reversed by the bank", WHOLE,
    ]  # fmt: skip
    types = [event["type"] for event in acme.events_of(refund["id"])]
    assert types == ["refund.created", "refund.succeeded"]
    assert acme.payment(payment_id)["status"] == "succeeded"
    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)
    assert (cases(), available_and_pending(acme)) == ([("reversed_by_bank", "open")], 0)
    assert Attempt.objects.get().due_at is None


@pytest.mark.usefixtures("agree")
def test_it_is_asked_once_and_an_approval_that_stands_is_left_alone(
    acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave("hang")
    payment_id = acme.pay()["id"]
    sweep_after(10)
    asked = inquiries(bank)

    after_the_day()
    for _ in range(3):
        sweep_after(DAY)

    assert acme.payment(payment_id)["status"] == "succeeded"
    assert (inquiries(bank), cases()) == (asked + 1, [])
    assert not Refund.objects.exists()


@pytest.mark.usefixtures("agree")
def test_an_approval_that_was_answered_at_once_is_not_asked_about(
    acme: ApiClient, bank: OldBankWay
) -> None:
    acme.pay()

    after_the_day()

    assert (inquiries(bank), Attempt.objects.get().due_at) == (0, None)


@pytest.mark.usefixtures("agree")
def test_a_silent_bank_is_asked_again_until_it_answers(acme: ApiClient, bank: OldBankWay) -> None:
    payment_id = learnt(acme, bank)
    bank.bank.misbehave("hang", on="History", times=2)

    after_the_day()
    assert not Refund.objects.exists()
    for _ in range(3):
        sweep_after(DAY)

    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)


@pytest.mark.usefixtures("agree")
def test_an_authorisation_that_the_bank_reversed_is_canceled(
    acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = learnt(acme, bank, capture_method="manual")
    assert acme.payment(payment_id)["status"] == "requires_capture"

    after_the_day()

    shown = acme.payment(payment_id)
    assert (shown["status"], shown["cancellation_reason"]) == ("canceled", "expired")
    assert acme.told(payment_id)[-1] == "canceled"
    assert cases() == [("reversed_by_bank", "open")]
    assert Attempt.objects.get().due_at is None


@pytest.mark.usefixtures("agree")
def test_an_authorisation_that_stands_still_expires_after_seven_days(
    acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.misbehave("hang")
    payment_id = acme.pay(capture_method="manual")["id"]
    sweep_after(10)

    after_the_day()
    assert acme.payment(payment_id)["status"] == "requires_capture"
    for _ in range(3):
        sweep_after(7 * DAY)

    assert acme.payment(payment_id)["status"] == "canceled"
    assert cases() == []


@pytest.mark.usefixtures("agree")
def test_a_capture_that_the_bank_reversed_is_refunded(acme: ApiClient, bank: OldBankWay) -> None:
    payment_id = acme.pay(capture_method="manual")["id"]
    bank.bank.misbehave("timeout_reversed", on="Capture")
    acme.post(f"/v1/payment_intents/{payment_id}/capture")
    sweep_after(10)
    assert acme.payment(payment_id)["status"] == "succeeded"

    after_the_day()

    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)
    assert cases() == [("reversed_by_bank", "open")]


def test_what_was_refunded_in_part_before_is_left_to_a_person(
    acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = learnt(acme, bank)
    acme.refund(payment_id, PART)

    after_the_day()

    [case] = Case.objects.all()
    assert (case.kind, "nothing is booked" in (case.finding or "")) == ("reversed_by_bank", True)
    assert [one["amount"] for one in acme.get("/v1/refunds")["data"]] == [PART]


def test_what_is_disputed_in_part_is_left_to_a_person(acme: ApiClient, bank: OldBankWay) -> None:
    payment_id = learnt(acme, bank)
    PaymentIntent.objects.filter(id=payment_id).update(disputed_minor=PART)

    after_the_day()

    assert (cases(), Refund.objects.count()) == ([("reversed_by_bank", "open")], 0)
    PaymentIntent.objects.filter(id=payment_id).update(disputed_minor=0)


@pytest.mark.usefixtures("agree")
def test_a_void_of_ours_is_no_reversal_of_the_banks(acme: ApiClient, bank: OldBankWay) -> None:
    bank.bank.misbehave("hang")
    payment_id = acme.pay()["id"]
    sweep_after(10)
    assert acme.refund(payment_id)["method"] == "void"

    after_the_day()

    assert (cases(), Refund.objects.count()) == ([], 1)


@pytest.mark.usefixtures("agree")
def test_after_settlement_and_payout_the_balance_goes_below_zero(
    acme: ApiClient, bank: OldBankWay
) -> None:
    payment_id = learnt(acme, bank)
    settle_everything(acme.merchant)
    left = available_and_pending(acme)
    account(acme.merchant)
    payout = pay_out(acme, left)
    assert (payout.status, available_and_pending(acme)) == (200, 0)

    sent(payout["id"])  # The same run of the sweeper asks the bank about the approval.

    assert available_and_pending(acme) == -left
    assert acme.payment(payment_id)["refunded_minor"] == WHOLE
    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)
