"""The one writer of the ledger."""

from collections.abc import Mapping
from datetime import datetime

from django.db import connection

from ledger.models import Account, Entry, Movement


def charge(
    merchant_id: str, *, amount: int, currency: str, cause_id: str, now: datetime
) -> Movement:
    """Record money that a card was debited with: pending for the merchant.

    In the caller's transaction, the one that settles the attempt.

    :param amount: minor units, surcharge included.
    :param cause_id: the attempt; a second charge of it is refused by the database.
    """
    lines: dict[str, int] = {Account.Kind.ACQUIRER: -amount, Account.Kind.PENDING: amount}
    movement = Movement(
        merchant_id=merchant_id, kind=Movement.Kind.CHARGE, cause_id=cause_id, created_at=now
    )
    return _write(movement, currency=currency, lines=lines)


def _write(movement: Movement, *, currency: str, lines: Mapping[str, int]) -> Movement:
    if not connection.in_atomic_block:
        raise RuntimeError("money moves in the transaction of its cause")
    accounts = [_account(movement.merchant_id, currency, kind) for kind in lines]
    # Accounts come into being with their first entry. Charges take no lock on them.
    Account.objects.bulk_create(accounts, ignore_conflicts=True)
    movement.save(force_insert=True)
    Entry.objects.bulk_create(
        Entry(
            merchant_id=movement.merchant_id,
            movement=movement,
            account=account,
            currency=currency,
            amount=lines[account.kind],
        )
        for account in accounts
    )
    return movement


def _account(merchant_id: str, currency: str, kind: str) -> Account:
    account_id = f"{merchant_id}.{currency}.{kind}"
    return Account(id=account_id, merchant_id=merchant_id, currency=currency, kind=kind)
