"""Fills the tables that lists are read from: `python -m bench.lists_fill MERCHANT ROWS`.

Prints how many seconds it took.
"""

import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import connection

from bench import (
    in_bulk,
    installation,  # noqa: F401
    lists_rows,
)
from bench.lists_rows import CUSTOMER_COLUMNS, PAYMENT_COLUMNS
from bench.neighbours import merchant_made
from core import clock

NEIGHBOURS = 10
TABLES = ("customers_customer", "intents_paymentintent", "intents_metadataentry")
BLOCK = 5_000  # Rows that are handed to the database at a time.

ENTRIES = """
    INSERT INTO intents_metadataentry (merchant_id, intent_id, created_at, key, value)
    SELECT merchant_id, p.id, created_at, entry.key, entry.value
    FROM intents_paymentintent p, jsonb_each_text(metadata) AS entry
"""


def fill(merchant_id: str, rows: int) -> None:
    """Write so many payments, half of them the merchant's, with customers and metadata."""
    now = clock.now()
    shops = [lists_rows.shop(merchant_id, rows // 2)]
    shops += [
        lists_rows.shop(merchant_made().id, rows // 2 // NEIGHBOURS) for _ in range(NEIGHBOURS)
    ]
    with connection.cursor() as cursor, in_bulk.filling(cursor, TABLES):
        _copy(cursor, TABLES[0], CUSTOMER_COLUMNS, lists_rows.customers(shops, now))
        _copy(cursor, TABLES[1], PAYMENT_COLUMNS, lists_rows.payments(shops, rows, now))
        cursor.execute(ENTRIES)


def _copy(cursor: Any, table: str, columns: str, lines: Iterator[str]) -> None:
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        while block := "".join(islice(lines, BLOCK)):
            copy.write(block)


if __name__ == "__main__":
    began = time.monotonic()
    fill(sys.argv[1], int(sys.argv[2]))
    print(time.monotonic() - began)
