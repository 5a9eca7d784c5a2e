"""Payouts that meet: whatever their order, no more leaves than is available, and none leaves twice.

The lock of the account is also taken out, for a race that cannot be lost proves nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from acquirers.conversation import settling
from acquirers.notices.tasks import take_in
from core import clock
from ledger import accounts
from ledger import balance as balances
from ledger.tasks import settle_due
from merchants import accounts as accounts_of_merchants
from merchants.models import Merchant, PayoutAccount
from payouts.models import Payout
from payouts.tasks import pay_out_daily
from tests.stage import transfer_books
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.sweeper import on_one_thread_each, sweep_after
from tests.stage.threads import at_once, together, wait_for_the_others
from tests.stage.topups import come, top_up
from tests.stage.transfers import (
    DELAY,
    PAYOUTS,
    at_the_bank,
    balance,
    hear,
    hear_after,
    pay_out,
    rich,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

MANY = 20


@pytest.fixture(autouse=True)
def _sweepers_ask_where_they_are() -> Iterator[None]:
    with on_one_thread_each():
        yield


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return rich(acme, 10_000)


def paying_out(client: ApiClient, amount: int) -> Any:
    twin = client.twin()

    def call() -> Answer:
        while (answer := pay_out(twin, amount)).status == 409:
            pass
        return answer

    return call


def test_twenty_payouts_at_once_take_what_is_there_and_no_more(shop: ApiClient) -> None:
    answers = at_once([paying_out(shop, 3000) for _ in range(MANY)])

    told = Counter(one["status"] if one.status == 200 else one.error["code"] for one in answers)
    assert told == {"pending": 3, "balance_insufficient": MANY - 3}
    assert (balance(shop), Payout.objects.count()) == (1000, 3)
    assert_our_own_books_agree()


def test_without_the_accounts_lock_more_would_leave_than_is_there(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = balances.funds

    def read_together(merchant_id: str, currency: str) -> balances.Funds:
        found = real(merchant_id, currency)
        wait_for_the_others()
        return found

    monkeypatch.setattr(accounts, "lock", lambda *_: None)
    monkeypatch.setattr(balances, "funds", read_together)

    at_once([paying_out(shop, 10_000) for _ in range(3)])

    assert balance(shop) < 0


@pytest.mark.parametrize(
    ("meanwhile", "destination", "code"),
    [
        (lambda: PayoutAccount.objects.all().delete(), None, "parameter_missing"),
        (lambda: PayoutAccount.objects.all().delete(), "main", "resource_missing"),
        (lambda: Merchant.objects.update(payouts_enabled=False), "main", "merchant_restricted"),
    ],
)
def test_what_an_operator_takes_away_while_a_payout_waits_counts(
    meanwhile: Callable[[], Any],
    destination: str | None,
    code: str,
    shop: ApiClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = accounts.lock

    def lock_that_is_waited_for(*pot: str) -> None:
        monkeypatch.setattr(accounts, "lock", real)
        together([meanwhile])
        real(*pot)

    monkeypatch.setattr(accounts, "lock", lock_that_is_waited_for)

    given = {"destination": destination} if destination else {}
    answer = pay_out(shop, 1000, **given)

    assert (answer.error["code"], Payout.objects.count()) == (code, 0)
    assert balance(shop) == 10_000


def test_a_payout_and_a_refund_share_what_is_there(acme: ApiClient, bank: BankTransport) -> None:
    begin_at_noon()
    paid = acme.pay(amount=10_000)["id"]
    rich(acme, 10_000)

    together([paying_out(acme, 10_000), lambda: acme.twin().refund(paid, 10_000)])

    # A refund takes the payment's own unsettled part first, and then what is available.
    assert balance(acme) + acme.pending() >= 0
    assert balance(acme) == 10_000 - sum(Payout.objects.values_list("amount", flat=True))
    assert_our_own_books_agree()


def test_payouts_by_api_and_schedule_beside_all_that_takes_money_overdraw_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    paid = acme.pay(amount=10_000)["id"]
    disputed = acme.pay(amount=7_000)["id"]
    rich(acme, 10_000)
    top_up(acme, source="test_reverse")
    come()
    accounts_of_merchants.change(acme.merchant, {"payout_schedule": {"interval": "daily"}})
    clock.advance(timedelta(days=7))
    call_command("bank", "dispute", disputed, stdout=StringIO())

    together([
        *(paying_out(acme, 3000) for _ in range(MANY)),
        pay_out_daily, pay_out_daily, settle_due, come, take_in,
        lambda: acme.twin().refund(paid, 4000),
    ])  # fmt: skip

    assert acme.get("/v1/disputes")["data"][0]["amount"] == 7_000
    assert Payout.objects.filter(automatic=True).count() <= 1
    transfer_books.assert_nothing_is_overdrawn(acme)
    assert_our_own_books_agree()


def test_a_cancellation_at_the_second_of_the_sending_is_one_or_the_other(shop: ApiClient) -> None:
    for _ in range(6):
        made = pay_out(shop, 1000)
        together([
            lambda: sweep_after(DELAY),
            lambda made=made: shop.twin().post(f"{PAYOUTS}/{made['id']}/cancel"),
        ])  # fmt: skip
        hear_after(5)
        assert Payout.objects.get(id=made["id"]).status in ("canceled", "paid")

    paid = Payout.objects.filter(status="paid").count()
    assert at_the_bank() == [(1000, "paid", 1000)] * paid
    assert balance(shop) == 10_000 - 1000 * paid
    assert_our_own_books_agree()


def test_the_banks_word_may_come_before_the_answer_to_the_sending(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = settling.settle

    def after_the_notice(*given: Any) -> Any:
        hear_after(5)
        return real(*given)

    monkeypatch.setattr(settling, "settle", after_the_notice)
    made = pay_out(shop, 1000)

    sweep_after(DELAY)

    assert Payout.objects.get(id=made["id"]).status == "paid"
    assert balance(shop) == 9000
    assert_our_own_books_agree()


def test_a_notice_that_is_taken_in_by_many_is_applied_once(shop: ApiClient) -> None:
    made = pay_out(shop, 1000, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(0)

    def listen() -> None:
        hear()

    hear_after(5)
    together([listen] * 4)

    assert [event["type"] for event in shop.events_of(made["id"])] == [
        "payout.created", "payout.paid", "payout.failed",
    ]  # fmt: skip
    assert balance(shop) == 10_000
    assert_our_own_books_agree()
