"""Writers of the journal beside each other: each has a transaction of its own, for as long as told.

They write as the book does, the movement before its entries, and past the book itself: it opens no
transaction that stays open.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg import ClientCursor

from core import ids
from ledger import accounts
from ledger.models import LedgerEntry
from merchants.models import Merchant

MOVEMENT = """
INSERT INTO ledger_movement (id, merchant_id, kind, type, cause_id, source_id, currency, amount,
    surcharge, fee, net, returns_fee, available_on, created_at)
VALUES (%(movement)s, %(merchant)s, 'topup', 'topup', %(cause)s, %(cause)s, 'try', %(amount)s,
    0, 0, %(amount)s, false, now(), now())
"""
ENTRIES = """
INSERT INTO ledger_entry (merchant_id, movement_id, account_id, currency, amount)
SELECT %(merchant)s, %(movement)s, %(merchant)s || kind, 'try', amount
FROM (VALUES ('.try.available', %(amount)s), ('.try.transfers', -%(amount)s)) AS line (kind, amount)
RETURNING id
"""


class Writer:
    """A transaction with topups in it, and the ids of their entries."""

    def __init__(self, address: str = "") -> None:
        # The address of another database than the test's, if need be.
        parameters = {} if address else connection.get_connection_params()
        parameters = {name: parameters[name] for name in ("dbname", "host", "user") if parameters}
        self._connection = psycopg.connect(address, cursor_factory=ClientCursor, **parameters)
        self.entries: list[int] = []

    def topup(self, merchant: Merchant, amount: int) -> None:
        values = {
            "movement": ids.new("txn"),
            "merchant": merchant.id,
            # Several processes write into one ledger: a number could be taken.
            "cause": ids.new("tu"),
            "amount": amount,
        }
        self._connection.execute(MOVEMENT, values)
        self.entries += [entry for (entry,) in self._connection.execute(ENTRIES, values)]

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def commit(self) -> None:
        self._connection.commit()
        self.entries.clear()

    def rollback(self) -> None:
        self._connection.rollback()
        self.entries.clear()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def writing() -> Iterator[Writer]:
    """A writer; if it has not committed when the block ends, it never will."""
    writer = Writer()
    try:
        yield writer
    finally:
        writer.close()


def topup(merchant: Merchant, *amounts: int) -> None:
    """Write topups, committed one by one."""
    with writing() as writer:
        for amount in amounts:
            writer.topup(merchant, amount)
            writer.commit()


def booked(merchant: Merchant) -> int:
    """Return the merchant's `available` by its entries alone."""
    entries = LedgerEntry.objects.filter(account=f"{merchant.id}.try.available")
    return sum(entries.values_list("amount", flat=True))


def open_accounts(merchant: Merchant) -> Merchant:
    accounts.ensure(merchant.id, "try")
    return merchant
