"""Refunds that a bank takes back by itself, as it does if its answer did not arrive.

One whose yes an inquiry brought is asked about once more after the bank's day.
"""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from cases.models import Case
from core import clock
from payments.refunds.models import Refund
from tests.payments.refunds.test_nameless_refunds import lost, without_refunds
from tests.stage.bank_days import begin_at_noon
from tests.stage.booked import movements
from tests.stage.client import ApiClient
from tests.stage.oldbank import nameless
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep, sweep_after

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

PART = 4000
DAY = 86_400
# From noon to ten minutes after ten in the evening, the end of the old bank's day.
UNTIL_AFTER_THE_DAY = timedelta(hours=10, minutes=10)


@pytest.fixture
def bank(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    with old_bank_behind(old_bank, adapter=nameless.ADAPTER) as way:
        yield way


@pytest.fixture
def paid(acme: ApiClient, bank: OldBankWay) -> str:
    begin_at_noon()
    return acme.pay()["id"]


@pytest.fixture
def found(paid: str, acme: ApiClient, bank: OldBankWay) -> str:
    """A refund whose answer did not arrive, and that an inquiry has found done."""
    refund_id = lost(acme, bank, paid, "cut_after")
    sweep_after(10)
    assert acme.refunded(refund_id)["status"] == "succeeded"
    return refund_id


def after_the_day() -> None:
    clock.advance(UNTIL_AFTER_THE_DAY)
    sweep()


def types(client: ApiClient, refund_id: str) -> list[str]:
    return [event["type"].removeprefix("refund.") for event in client.events_of(refund_id)]


def test_one_that_the_bank_takes_back_fails_and_its_money_is_the_merchants_again(
    paid: str, found: str, acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.take_refunds_back()

    after_the_day()

    shown = acme.refunded(found)
    assert (shown["status"], shown["failure_reason"]) == ("failed", "unknown")
    assert types(acme, found) == ["created", "succeeded", "failed"]
    assert movements(found) == ["refund", "refund_paid", "refund_bounced"]
    assert given_back(paid) == GivenBack(0, 0)
    assert Refund.objects.get().due_at is None


def test_what_was_taken_back_may_be_refunded_again(
    paid: str, found: str, acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.take_refunds_back()
    after_the_day()

    again = acme.refund(paid, PART)

    assert again["status"] == "succeeded"
    assert given_back(paid) == GivenBack(PART, PART)


def test_one_that_stands_is_asked_about_once_and_left_alone(
    paid: str, found: str, acme: ApiClient, bank: OldBankWay
) -> None:
    asked = bank.inquiries_seen()

    after_the_day()
    for _ in range(3):
        sweep_after(DAY)

    assert (acme.refunded(found)["status"], bank.inquiries_seen()) == ("succeeded", asked + 1)
    assert types(acme, found) == ["created", "succeeded"]
    assert not Case.objects.exists()


def test_one_that_was_answered_at_once_is_not_asked_about(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    acme.refund(paid, PART)

    after_the_day()

    assert (bank.inquiries_seen(), Refund.objects.get().due_at) == (0, None)


def test_a_silent_bank_is_asked_again_until_it_answers(
    paid: str, found: str, acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.take_refunds_back()
    bank.bank.misbehave("hang", on="History", times=2)

    after_the_day()
    assert acme.refunded(found)["status"] == "succeeded"
    for _ in range(3):
        sweep_after(DAY)

    assert acme.refunded(found)["status"] == "failed"
    assert given_back(paid) == GivenBack(0, 0)


def test_one_of_which_the_bank_has_no_record_any_more_is_left_to_a_person(
    found: str, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nameless.NamelessGateway, "inquire_refund", without_refunds)

    after_the_day()
    assert not Case.objects.exists()
    for _ in range(3):
        sweep_after(DAY)

    [case] = Case.objects.all()
    assert (case.kind, case.operation_id) == ("bank_contradicts_book", found)
    assert acme.refunded(found)["status"] == "succeeded"
    assert Refund.objects.get().due_at is None
