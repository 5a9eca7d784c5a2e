"""Balances, and a ledger that the database lets nobody falsify (I6)."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from core import clock
from ledger import book
from ledger.models import Account, Entry, Movement
from merchants.models import Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FROZEN = ["events_event", "ledger_entry", "ledger_movement"]


def run(sql: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def commit() -> None:
    """Check now what is deferred to the end of the transaction."""
    run("SET CONSTRAINTS ALL IMMEDIATE")
    run("SET CONSTRAINTS ALL DEFERRED")


def account(merchant: Merchant, currency: str = "try", kind: str = "pending") -> Account:
    return Account.objects.create(
        id=f"{merchant.id}.{currency}.{kind}", merchant=merchant, currency=currency, kind=kind
    )


@transaction.atomic
def move(merchant: Merchant, *lines: tuple[Account, str, int]) -> None:
    """Write a movement past the ledger's own writer, up to its commit."""
    movement = Movement.objects.create(
        merchant=merchant, kind="charge", cause_id="att_1", created_at=clock.now()
    )
    for pot, currency, amount in lines:
        Entry.objects.create(
            merchant=merchant, movement=movement, account=pot, currency=currency, amount=amount
        )
    commit()


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


@pytest.fixture
def charged(acme: ApiClient, bank: BankTransport) -> None:
    """A payment with its movement, entries and events, all constraints checked."""
    acme.pay()
    commit()


def test_a_charge_is_pending_in_the_balance(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()
    acme.pay(amount=500)
    acme.pay(amount=700, currency="eur")
    acme.pay(DECLINED_CARD)

    balance = acme.get("/v1/balance")

    assert balance["pending"] == [
        {"amount": 700, "currency": "eur"}, {"amount": 13000, "currency": "try"},
    ]  # fmt: skip
    assert {row["amount"] for row in balance["available"] + balance["reserved"]} == {0}


def test_a_new_merchants_balance_is_nothing_in_the_default_currency(acme: ApiClient) -> None:
    balance = acme.get("/v1/balance")

    nothing = [{"amount": 0, "currency": "try"}]
    assert balance["available"] == balance["pending"] == balance["reserved"] == nothing
    assert (balance["object"], balance["id"][:4]) == ("balance", "bal_")


def test_balances_are_the_merchants_own(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    acme.pay()

    assert (acme.pending(), globex.pending()) == (12500, 0)


@pytest.mark.parametrize("table", FROZEN)
@pytest.mark.parametrize("change", ["UPDATE {} SET id = id", "DELETE FROM {}"])
@pytest.mark.usefixtures("charged")
def test_what_is_written_is_not_changed_or_deleted(table: str, change: str) -> None:
    with pytest.raises(DatabaseError, match="append-only|never changed"):
        run(change.format(table))


@pytest.mark.parametrize("table", FROZEN)
@pytest.mark.usefixtures("charged")
def test_what_is_written_is_not_truncated(table: str) -> None:
    with pytest.raises(DatabaseError, match="append-only|never changed"):
        run(f"TRUNCATE {table} CASCADE")


def test_a_movement_that_does_not_sum_to_zero_is_refused(merchant: Merchant) -> None:
    pending, acquirer = account(merchant), account(merchant, kind="acquirer")

    with pytest.raises(IntegrityError, match="does not sum to zero"):
        move(merchant, (pending, "try", 12500), (acquirer, "try", -12499))


def test_a_movement_sums_to_zero_in_each_currency(merchant: Merchant) -> None:
    pending, euros = account(merchant), account(merchant, "eur")

    with pytest.raises(IntegrityError, match="does not sum to zero"):
        move(merchant, (pending, "try", 12500), (euros, "eur", -12500))


def test_a_movement_of_nothing_is_refused(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="moves nothing"):
        move(merchant)


def test_an_entry_of_another_currency_than_its_account_is_refused(merchant: Merchant) -> None:
    liras, euros = account(merchant), account(merchant, "eur")

    with pytest.raises(IntegrityError, match="an_entrys_account_is_the_merchants_in_its_currency"):
        move(merchant, (liras, "eur", 12500), (euros, "eur", -12500))


def test_an_entry_in_another_merchants_account_is_refused(merchant: Merchant) -> None:
    theirs, ours = account(MerchantFactory()), account(merchant)

    with pytest.raises(IntegrityError, match="an_entrys_account_is_the_merchants_in_its_currency"):
        move(merchant, (theirs, "try", 12500), (ours, "try", -12500))


def test_an_entry_of_zero_is_refused(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="an_entry_moves_something"):
        move(merchant, (account(merchant), "try", 0))


def test_one_attempt_is_booked_once(merchant: Merchant) -> None:
    charge = {"amount": 12500, "currency": "try", "cause_id": "att_1", "now": clock.now()}
    book.charge(merchant.id, **charge)

    with pytest.raises(IntegrityError, match="a_cause_moves_money_once_per_kind"):
        book.charge(merchant.id, **charge)
