"""Refunds that the bank refuses until the end of its day: not yet is neither a no nor a doubt."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from cases.models import Case
from core import clock
from payments.deciding import watch
from payments.refunds.models import Refund
from tests.stage.bank_days import begin_at_noon
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep, sweep_after

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

PART = 4000
# From noon to ten minutes after ten in the evening, the end of the old bank's day.
UNTIL_AFTER_THE_DAY = timedelta(hours=10, minutes=10)
A_LITTLE = timedelta(seconds=30)
DAY = 86_400


@pytest.fixture
def bank(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    """The old bank, which refunds nothing on the day of its capture."""
    old_bank.refund_after(days=1)
    with old_bank_behind(old_bank) as way:
        yield way


@pytest.fixture
def paid(acme: ApiClient, bank: OldBankWay) -> str:
    begin_at_noon()
    return acme.pay()["id"]


def types(client: ApiClient, refund_id: str) -> list[str]:
    return [event["type"].removeprefix("refund.") for event in client.events_of(refund_id)]


def refunds_asked(bank: OldBankWay) -> int:
    return sum(kind == "Refund" for kind, _order, _terminal in bank.seen)


def test_not_yet_leaves_it_pending_until_ten_minutes_after_the_day(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    made = acme.refund(paid, PART)
    assert (made.status, made["status"], made["pending_reason"]) == (
        200, "pending", "bank_day_open",
    )  # fmt: skip
    assert acme.payment(paid)["refunded_minor"] == PART

    clock.advance(UNTIL_AFTER_THE_DAY - 4 * A_LITTLE)
    sweep()
    assert refunds_asked(bank) == 1
    sweep_after(180)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "updated", "succeeded"]
    assert given_back(paid) == GivenBack(PART, PART)
    assert refunds_asked(bank) == 2


def test_not_yet_for_a_week_is_asked_by_the_schedule_and_opens_no_case(
    paid: str, acme: ApiClient, bank: OldBankWay, caplog: pytest.LogCaptureFixture
) -> None:
    bank.bank.refund_after(days=9)
    made = acme.refund(paid, PART)

    clock.advance(UNTIL_AFTER_THE_DAY + A_LITTLE)
    for _ in range(7):
        sweep()
        sweep_after(DAY - 60)
        watch.watch()
    assert acme.refunded(made["id"]).body == made.body
    assert refunds_asked(bank) == 8  # Once a day, after the first.
    sweep_after(DAY)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "updated", "succeeded"]
    assert given_back(paid) == GivenBack(PART, PART)
    assert not Case.objects.exists()
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_it_can_be_canceled_while_it_waits(paid: str, acme: ApiClient, bank: OldBankWay) -> None:
    before = acme.get("/v1/balance").body
    made = acme.refund(paid, PART)
    assert acme.get("/v1/balance").body != before

    canceled = acme.post(f"{REFUNDS}/{made['id']}/cancel")

    sweep_after(DAY)
    assert (canceled["status"], canceled["pending_reason"]) == ("canceled", None)
    assert acme.get("/v1/balance")["pending"] == before["pending"]
    assert refunds_asked(bank) == 1
    assert given_back(paid) == GivenBack(0, 0)


def test_silence_after_not_yet_is_a_doubt_again(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    made = acme.refund(paid, PART)
    clock.advance(UNTIL_AFTER_THE_DAY)
    bank.fault = "cut_after"
    sweep_after(30)
    bank.fault = None

    shown = acme.refunded(made["id"])
    assert (shown["status"], shown["pending_reason"]) == ("pending", "processing")
    assert acme.post(f"{REFUNDS}/{made['id']}/cancel").refusal[1] == "refund_unexpected_state"
    sweep_after(600)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "updated", "updated", "succeeded"]
    assert given_back(paid) == GivenBack(PART, PART)


def test_a_retry_of_the_request_sends_nothing_again(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    made = acme.refund(paid, PART, idempotency_key="k")

    again = acme.refund(paid, PART, idempotency_key="k")

    assert again.body == made.body
    assert refunds_asked(bank) == 1
    assert Refund.objects.get().sent_at is None


def test_not_yet_at_the_very_second_of_the_days_end_is_tried_after_the_next_one(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    bank.bank.refund_after(days=2)
    clock.advance(UNTIL_AFTER_THE_DAY - timedelta(minutes=10))

    made = acme.refund(paid, PART)
    assert made["pending_reason"] == "bank_day_open"
    sweep_after(DAY)
    assert refunds_asked(bank) == 1
    sweep_after(700)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert given_back(paid) == GivenBack(PART, PART)


def test_equal_parts_wait_together_and_each_is_sent_once(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    made = [acme.refund(paid, PART)["id"] for _ in range(3)]

    clock.advance(UNTIL_AFTER_THE_DAY)
    sweep_after(30)

    assert [acme.refunded(one)["status"] for one in made] == ["succeeded"] * 3
    assert given_back(paid) == GivenBack(3 * PART, 3 * PART)
