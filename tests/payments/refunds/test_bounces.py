"""Refunds that bounce: from the bank's book through the poller to the merchant's balance."""

from datetime import timedelta

import pytest

from core import clock
from payments.refunds.models import Refund
from testbank import decisions
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.booked import movements, settle_everything
from tests.stage.client import Answer, ApiClient
from tests.stage.notifier import take_in
from tests.stage.refund_books import GivenBack, given_back

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    begin_at_noon()
    return acme.pay()["id"]


def bounce(refund: Answer) -> None:
    """Let the bank take a refund back, and the poller hear of it."""
    decisions.bounce(Refund.objects.get(id=refund["id"]).acquirer_reference)
    take_in()


def balance(client: ApiClient) -> tuple[int, int]:
    """Return what is available and what is pending."""
    shown = client.get("/v1/balance")
    available, pending = (
        [row["amount"] for row in shown[kind]] for kind in ("available", "pending")
    )
    return available[0], pending[0]


def test_a_bounced_refund_fails_and_its_money_is_the_merchants_again(
    paid: str, acme: ApiClient
) -> None:
    before = balance(acme)
    refund = acme.refund(paid, 4000)
    assert (refund["status"], balance(acme)) == ("succeeded", (0, 8500))

    bounce(refund)

    failed = acme.refunded(refund["id"])
    assert (failed["status"], failed["failure_reason"]) == ("failed", "expired_or_canceled_card")
    assert failed["reference"] == refund["reference"] is not None
    assert balance(acme) == before
    assert given_back(paid) == GivenBack(0, 0)
    assert movements(refund["id"]) == ["refund", "refund_paid", "refund_bounced"]
    *_, last = acme.events_of(refund["id"])
    assert last["type"] == "refund.failed"
    assert last["data"]["previous_attributes"] == {"status": "succeeded", "failure_reason": None}


def test_what_bounced_may_be_refunded_again(paid: str, acme: ApiClient) -> None:
    bounce(acme.refund(paid, 12000))
    assert acme.payment(paid)["amount_refundable"] == 12500

    again = acme.refund(paid, 12000)

    assert again["status"] == "succeeded"
    assert given_back(paid) == GivenBack(12000, 12000)


def test_one_that_bounces_after_its_settlement_is_settled_by_the_next_run(
    paid: str, acme: ApiClient
) -> None:
    refund = acme.refund(paid, 4000)
    settle_everything(acme.merchant)
    assert balance(acme) == (8500, 0)

    bounce(refund)

    assert balance(acme) == (8500, 4000)
    clock.advance(timedelta(days=1))
    settle_everything(acme.merchant)
    assert balance(acme) == (12500, 0)


def test_one_that_is_told_while_it_is_pending_here_fails_once(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_after"
    refund = acme.refund(paid, 4000)
    bank.fault = None
    assert refund["status"] == "pending"

    bounce(refund)

    types = [event["type"] for event in acme.events_of(refund["id"])]
    assert types == ["refund.created", "refund.failed"]
    assert movements(refund["id"]) == ["refund", "refund_returned"]
    assert given_back(paid) == GivenBack(0, 0)


def test_the_transactions_of_a_bounced_refund_cancel_out(paid: str, acme: ApiClient) -> None:
    refund = acme.refund(paid, 4000)
    bounce(refund)

    rows = acme.get(f"/v1/balance_transactions?source={refund['id']}&sort=created")["data"]

    assert [(row["type"], row["net"]) for row in rows] == [
        ("refund", -4000), ("refund_failure", 4000),
    ]  # fmt: skip
