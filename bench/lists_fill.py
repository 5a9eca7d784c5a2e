"""Fills the tables that lists are read from: `python -m bench.lists_fill MERCHANT ROWS`.

Prints how many seconds it took.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.db import connection

from bench import (
    installation,  # noqa: F401
    lists_rows,
)
from bench.lists_rows import CUSTOMER_COLUMNS, PAYMENT_COLUMNS
from core import clock, ids
from merchants.models import Merchant

NEIGHBOURS = 10
TABLES = ("customers_customer", "intents_paymentintent", "intents_metadataentry")
BLOCK = 5_000  # Rows that are handed to the database at a time.

ENTRIES = """
    INSERT INTO intents_metadataentry (merchant_id, intent_id, created_at, key, value)
    SELECT merchant_id, p.id, created_at, entry.key, entry.value
    FROM intents_paymentintent p, jsonb_each_text(metadata) AS entry
"""
# Indexes without a constraint on them: dropped while rows are filled in, and made anew after.
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY (%s::text[]::regclass[])
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""


def fill(merchant_id: str, rows: int) -> None:
    """Write so many payments, half of them the merchant's, with customers and metadata."""
    now = clock.now()
    shops = [lists_rows.shop(merchant_id, rows // 2)]
    shops += [lists_rows.shop(_neighbour(), rows // 2 // NEIGHBOURS) for _ in range(NEIGHBOURS)]
    with connection.cursor() as cursor, _in_bulk(cursor):
        _copy(cursor, TABLES[0], CUSTOMER_COLUMNS, lists_rows.customers(shops, now))
        _copy(cursor, TABLES[1], PAYMENT_COLUMNS, lists_rows.payments(shops, rows, now))
        cursor.execute(ENTRIES)


def _neighbour() -> str:
    merchant = Merchant.objects.create(
        id=ids.new("mer"),
        name="Globex",
        email="owner@globex.example",
        country="TR",
        default_currency="try",
        timezone="Europe/Istanbul",
        api_version="2026-11-01",
        created_at=clock.now(),
    )
    return merchant.id


@contextmanager
def _in_bulk(cursor: Any) -> Iterator[None]:
    """Make the indexes after the rows, and check no foreign keys: it would take very long."""
    cursor.execute(INDEXES, [list(TABLES)])
    indexes = cursor.fetchall()
    cursor.execute("SET session_replication_role = replica")
    cursor.execute("SET maintenance_work_mem = '256MB'")
    for name, _definition in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for _name, definition in indexes:
        cursor.execute(definition)
    for table in TABLES:
        cursor.execute(f"VACUUM ANALYZE {table}")
    cursor.execute("RESET maintenance_work_mem")
    cursor.execute("RESET session_replication_role")


def _copy(cursor: Any, table: str, columns: str, lines: Iterator[str]) -> None:
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        while block := "".join(islice(lines, BLOCK)):
            copy.write(block)


if __name__ == "__main__":
    began = time.monotonic()
    fill(sys.argv[1], int(sys.argv[2]))
    print(time.monotonic() - began)
