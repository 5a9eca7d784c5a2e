"""Balances, and a ledger that the database lets nobody falsify (I6)."""

from datetime import date

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from core import clock, ids
from ledger import accounts, book, settlement
from ledger.book import Sale
from ledger.models import Account, LedgerEntry, Movement, Run
from merchants.models import Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.factories import DECLINED_CARD, MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FROZEN = ["events_event", "ledger_entry", "ledger_movement", "ledger_run"]


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
    net = sum(amount for pot, _currency, amount in lines if pot.kind == "pending")
    movement = Movement.objects.create(
        id=ids.new("txn"),
        merchant=merchant,
        kind="charge",
        type="charge" if net else None,
        cause_id="att_1",
        source_id="pi_1",
        currency="try",
        amount=net,
        net=net,
        available_on=clock.now().date(),
        created_at=clock.now(),
    )
    for pot, currency, amount in lines:
        LedgerEntry.objects.create(
            merchant=merchant,
            movement=movement,
            account=pot,
            currency=currency,
            amount=amount,
            available_on=clock.now().date() if pot.kind == "pending" else None,
        )
    commit()


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


@pytest.fixture
def charged(acme: ApiClient, bank: BankTransport) -> None:
    """A payment that is settled: movements, entries, a run, events; all constraints checked."""
    acme.pay()
    assert settlement.settle(acme.merchant, "try", on=date(2100, 1, 1))
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


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("table", [*FROZEN, "ledger_account"])
@pytest.mark.parametrize("change", ["UPDATE {} SET id = id", "DELETE FROM {}"])
@pytest.mark.usefixtures("charged")
def test_what_is_written_is_not_changed_or_deleted(table: str, change: str) -> None:
    with pytest.raises(DatabaseError, match="append-only|never changed"):
        run(change.format(table))


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("table", FROZEN)
@pytest.mark.usefixtures("charged")
def test_what_is_written_is_not_truncated(table: str) -> None:
    with pytest.raises(DatabaseError, match="append-only|never changed"), as_owner() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE")


def test_a_movement_that_does_not_sum_to_zero_is_refused(merchant: Merchant) -> None:
    pending, acquirer = account(merchant), account(merchant, kind="acquirer")

    with pytest.raises(IntegrityError, match="does not sum to zero"):
        move(merchant, (pending, "try", 12500), (acquirer, "try", -12499))


def test_an_entry_of_another_currency_than_its_movement_is_refused(merchant: Merchant) -> None:
    euros, acquirer = account(merchant, "eur"), account(merchant, "eur", kind="acquirer")

    with pytest.raises(IntegrityError, match="an_entrys_movement_is_the_merchants_in_its_currency"):
        move(merchant, (euros, "eur", 12500), (acquirer, "eur", -12500))


def test_a_movement_that_says_another_net_than_its_entries_is_refused(merchant: Merchant) -> None:
    available, acquirer = account(merchant, kind="available"), account(merchant, kind="acquirer")

    with pytest.raises(IntegrityError, match="by another amount than it says"):
        move(merchant, (available, "try", 12500), (acquirer, "try", -12500))


def test_a_movement_of_nothing_is_refused(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="moves nothing"):
        move(merchant)


def test_an_entry_of_another_currency_than_its_account_is_refused(merchant: Merchant) -> None:
    euros, acquirer = account(merchant, "eur"), account(merchant, kind="acquirer")

    with pytest.raises(IntegrityError, match="an_entrys_account_is_the_merchants_in_its_currency"):
        move(merchant, (euros, "try", 12500), (acquirer, "try", -12500))


def test_an_entry_in_another_merchants_account_is_refused(merchant: Merchant) -> None:
    theirs, ours = account(MerchantFactory()), account(merchant, kind="acquirer")

    with pytest.raises(IntegrityError, match="an_entrys_account_is_the_merchants_in_its_currency"):
        move(merchant, (theirs, "try", 12500), (ours, "try", -12500))


def test_an_entry_of_zero_is_refused(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="an_entry_moves_something"):
        move(merchant, (account(merchant), "try", 0))


def test_an_account_is_what_its_id_says(merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="an_accounts_id_is_its_merchant_currency_and_kind"):
        Account.objects.create(
            id=f"{merchant.id}.try.fees", merchant=merchant, currency="try", kind="pending"
        )


@pytest.mark.parametrize(("kind", "day"), [("pending", None), ("available", date(2026, 11, 2))])
def test_pending_entries_and_no_others_have_a_date(
    kind: str, day: date | None, merchant: Merchant
) -> None:
    movement = Movement(merchant=merchant, kind="charge", cause_id="att_1", currency="try")
    movement.id, movement.amount, movement.net = ids.new("txn"), 1, 1
    movement.created_at = movement.available_on = clock.now()
    movement.type = "charge"
    movement.save(force_insert=True)

    with pytest.raises(IntegrityError, match="pending_entries_and_no_others_have_a_date"):
        LedgerEntry.objects.create(
            merchant=merchant,
            movement=movement,
            account=account(merchant, kind=kind),
            currency="try",
            amount=1,
            available_on=day,
        )


@pytest.mark.parametrize(
    ("day", "boundary"), [(date(2026, 11, 1), 10), (date(2026, 11, 3), 9)], ids=["date", "boundary"]
)
def test_a_run_that_does_not_go_on_from_the_last_is_refused(
    day: date, boundary: int, merchant: Merchant
) -> None:
    terms = {"merchant": merchant, "currency": "try", "amount": 1, "created_at": clock.now()}
    Run.objects.create(id=ids.new("run"), date=date(2026, 11, 2), boundary=10, **terms)

    with pytest.raises(IntegrityError, match="does not go on from the last one"):
        Run.objects.create(id=ids.new("run"), date=day, boundary=boundary, **terms)


def test_one_attempt_is_booked_once(merchant: Merchant) -> None:
    terms = {"cause_id": "att_1", "captured_on": clock.now().date(), "now": clock.now()}
    accounts.ensure(merchant.id, "try")
    book.charge(merchant.id, Sale(12500, "try"), **terms)

    with pytest.raises(IntegrityError, match="a_cause_moves_money_once_per_kind"):
        book.charge(merchant.id, Sale(12500, "try"), **terms)
