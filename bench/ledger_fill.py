"""Fills the ledger: `python -m bench.ledger_fill ORDER.json`, with the arguments of `fill`.

Each movement is a charge in three parts with its surcharge, which are five entries. Prints how many
seconds it took, and the number of the next charge.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from bench import (
    in_bulk,
    installation,  # noqa: F401
)
from bench.neighbours import merchant_made
from ledger import accounts

TABLES = ("ledger_movement", "ledger_entry")
ENTRIES_OF_A_CHARGE = 5
DAYS = 730  # Charges are spread over the days until today.

# Numbers tell which charge it is: those of one merchant begin behind each other's.
CHARGES = """
    generate_series({first}, {last}) AS n,
    LATERAL (SELECT lpad(n::text, 12, '0'),
        current_date - {days} + ((n - {first}) * {days} / {count})::int) AS made (place, day)
"""
MOVEMENTS = """
    SELECT 'txn_bench' || place, '{merchant}', 'charge', 'charge', 'att_bench' || place,
        'pi_bench' || place, 'att_bench' || place, 'try', 12000, 600, 0, 12000, false, day + 62,
        day::timestamptz
    FROM {charges}
"""
MOVEMENT_COLUMNS = (
    "id, merchant_id, kind, type, cause_id, source_id, charge_id, currency, amount, surcharge, fee,"
    " net, returns_fee, available_on, created_at"
)
ENTRIES = """
    SELECT '{merchant}', 'txn_bench' || place, '{merchant}.try.' || kind, 'try', amount, day + after
    FROM {charges}, (VALUES (1, 'acquirer', -12600, NULL), (2, 'surcharge', 600, NULL),
        (3, 'pending', 4000, 1), (4, 'pending', 4000, 32), (5, 'pending', 4000, 62)
    ) AS line (number, kind, amount, after)
    ORDER BY n, number
"""
ENTRY_COLUMNS = "merchant_id, movement_id, account_id, currency, amount, available_on"

RUN = """
    INSERT INTO ledger_run (id, merchant_id, currency, date, boundary, amount, created_at)
    SELECT 'run_' || %(merchant)s, %(merchant)s, 'try', current_date - 1, max(id),
        coalesce(sum(amount) FILTER (WHERE merchant_id = %(merchant)s
            AND account_id = %(merchant)s || '.try.pending' AND available_on < current_date), 0),
        now()
    FROM ledger_entry
"""
SETTLEMENT = """
    INSERT INTO ledger_movement (id, merchant_id, kind, cause_id, source_id, currency, amount,
        surcharge, fee, net, returns_fee, created_at)
    VALUES ('txn_' || %(merchant)s, %(merchant)s, 'settlement', 'run_' || %(merchant)s,
        'run_' || %(merchant)s, 'try', 0, 0, 0, 0, false, now())
"""
SETTLED = """
    WITH due AS (
        SELECT available_on, sum(amount) AS amount FROM ledger_entry
        WHERE merchant_id = %(merchant)s AND account_id = %(merchant)s || '.try.pending'
            AND available_on < current_date GROUP BY available_on
    )
    INSERT INTO ledger_entry (merchant_id, movement_id, account_id, currency, amount, available_on)
    SELECT %(merchant)s, 'txn_' || %(merchant)s, %(merchant)s || '.try.pending', 'try', -amount,
        available_on
    FROM due
    UNION ALL
    SELECT %(merchant)s, 'txn_' || %(merchant)s, %(merchant)s || '.try.available', 'try',
        sum(amount), NULL
    FROM due HAVING count(*) > 0
"""


def fill(entries: dict[str, int], *, first: int = 1, is_new: bool = False, days: int = DAYS) -> int:
    """Write so many entries for each merchant; return the number of the next charge.

    :param first: the number of the first charge.
    :param days: over so many days, until yesterday, the charges are spread; 0: all are today's.
    :param is_new: they come to many others and are not settled; else a run has settled all parts
        of yesterday and before.
    """
    with connection.cursor() as cursor, _way_of_filling(cursor, is_new=is_new):
        for merchant_id, count in entries.items():
            accounts.ensure(merchant_id, "try")
            charges = max(1, count // ENTRIES_OF_A_CHARGE)
            _charge(cursor, merchant_id, range(first, first + charges), days)
            first += charges
            for statement in () if is_new else (RUN, SETTLEMENT, SETTLED):
                cursor.execute(statement, {"merchant": merchant_id})
    return first


@contextmanager
def _way_of_filling(cursor: Any, *, is_new: bool) -> Iterator[None]:
    # To make the indexes of many rows anew for few more would take longer than to keep them.
    if not is_new:
        with in_bulk.filling(cursor, TABLES):
            yield
        return
    cursor.execute(in_bulk.BECOME_OWNER)
    cursor.execute("SET session_replication_role = replica")
    yield
    cursor.execute("RESET session_replication_role")
    cursor.execute("RESET ROLE")


def _charge(cursor: Any, merchant_id: str, numbers: range, days: int) -> None:
    ends = {"first": numbers[0], "last": numbers[-1], "count": len(numbers)}
    charges = CHARGES.format(**ends, days=days)
    made = {"merchant": merchant_id, "charges": charges}
    _copy(cursor, TABLES[0], MOVEMENT_COLUMNS, MOVEMENTS.format(**made))
    _copy(cursor, TABLES[1], ENTRY_COLUMNS, ENTRIES.format(**made))


def _copy(cursor: Any, table: str, columns: str, made: str) -> None:
    """Copy rows that another connection makes."""
    with (
        closing(connection.copy()) as source,
        source.cursor() as rows,
        rows.copy(f"COPY ({made}) TO STDOUT") as out,
        cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as into,
    ):
        for block in out:
            into.write(block)


def neighbours(count: int) -> list[str]:
    """Make so many merchants; return their ids."""
    return [merchant_made().id for _ in range(count)]


def main(order: dict[str, Any]) -> dict[str, float]:
    began = time.monotonic()
    for merchant_id in neighbours(order.pop("neighbours", 0)):
        order["entries"][merchant_id] = order["entries_of_a_neighbour"]
    order.pop("entries_of_a_neighbour", None)
    return {"next": fill(**order), "seconds": time.monotonic() - began}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(Path(sys.argv[1]).read_text()))))
