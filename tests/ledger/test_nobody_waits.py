"""Charges wait for nothing but themselves; what takes from a merchant goes one after the other."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.db import OperationalError, transaction

from ledger import accounts, book
from ledger.models import Account, Movement
from ledger.models.accounts import account_id
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import Till
from tests.stage.client import ApiClient
from tests.stage.held_transactions import held_open, nobody_waits

# In real transactions, of which one stays open while the other goes on.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

Work = Callable[[Till, Movement], object]


def taken_back(taker: Callable[..., Movement]) -> Work:
    def take(till: Till, charge: Movement) -> Movement:
        return till.taken(taker, charge, charge.card_money)

    return take


HELD: dict[str, Work] = {
    "charge": lambda till, _charge: till.charged(500),
    "refund": taken_back(book.refund),
    "void": taken_back(book.void),
    "dispute": taken_back(book.dispute_opened),
    "account": lambda till, _charge: accounts.lock(till.merchant.id, till.currency),
}


def waited_in_vain() -> AbstractContextManager:
    return pytest.raises(OperationalError, match="lock timeout")


@pytest.fixture
def till(acme: ApiClient) -> Till:
    return Till(acme.merchant)


@pytest.fixture
def charge(till: Till) -> Movement:
    return till.charge(10000)


@pytest.mark.parametrize("held", HELD)
def test_a_payment_does_not_wait_for_what_is_held_open(
    held: str, till: Till, charge: Movement, acme: ApiClient, bank: BankTransport
) -> None:
    with held_open(lambda: HELD[held](till, charge)), nobody_waits():
        paid = acme.pay()

    assert paid["status"] == "succeeded"


def test_the_first_two_payments_of_a_currency_do_not_wait_for_each_other(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Till(acme.merchant, "eur")
    monkeypatch.setattr(accounts, "_known", set())  # As a process that has not seen it.

    with held_open(lambda: first.charged(500)), nobody_waits():
        paid = acme.pay(currency="eur")

    assert paid["status"] == "succeeded"


@pytest.mark.parametrize("held", ["refund", "void", "dispute", "account"])
def test_a_refund_waits_for_what_else_takes_from_the_merchant(
    held: str, till: Till, charge: Movement
) -> None:
    other = till.charge(10000)

    with held_open(lambda: HELD[held](till, charge)), nobody_waits(), waited_in_vain():
        till.refund(other, 10000)


def test_a_payment_would_wait_for_an_account_that_is_locked_for_update(
    till: Till, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "lock", lock_for_update)

    held = held_open(lambda: accounts.lock(till.merchant.id, "try"))
    with held, nobody_waits(), waited_in_vain():
        till.charge(500)


def lock_for_update(merchant_id: str, currency: str) -> None:
    account = account_id(merchant_id, currency, Account.Kind.PENDING)
    Account.objects.select_for_update().get(id=account)


def test_accounts_are_opened_before_any_transaction(till: Till, acme: ApiClient) -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        accounts.ensure(acme.merchant.id, "gbp")


def test_merchants_do_not_wait_for_each_other(till: Till, globex: ApiClient) -> None:
    theirs = Till(globex.merchant)
    other = theirs.charge(500)

    with held_open(lambda: accounts.lock(till.merchant.id, "try")), nobody_waits():
        assert theirs.refund(other, 500)


def test_currencies_do_not_wait_for_each_other(till: Till) -> None:
    euros = Till(till.merchant, "eur")
    other = euros.charge(500)

    with held_open(lambda: accounts.lock(till.merchant.id, "try")), nobody_waits():
        assert euros.refund(other, 500)
