"""The lines of one reading, in a table of its own that ends with its transaction.

The lines are copied in as they are read: neither we nor the database keep the file in memory.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from itertools import islice
from typing import Any

from django.db import connection

from audit.reconciliation.lines import Line

BATCH = 2000
# The bank's number stands for all merchants of this installation.
ANY_MERCHANT = "*"
# A kept line has the number 0.
TABLES = """
DROP TABLE IF EXISTS reconciled_line, reconciled_otherwise;
CREATE TEMPORARY TABLE reconciled_line (
    number integer NOT NULL,
    day date NOT NULL,
    type varchar(20) COLLATE "C" NOT NULL,
    reference varchar(64) COLLATE "C" NOT NULL,
    merchant varchar(64) COLLATE "C",
    currency varchar(3) NOT NULL,
    amount bigint NOT NULL,
    value_date date
) ON COMMIT DROP;
CREATE TEMPORARY TABLE reconciled_otherwise (
    position bigint GENERATED ALWAYS AS IDENTITY,
    verdict varchar(20) NOT NULL,
    day date NOT NULL,
    type varchar(20) COLLATE "C" NOT NULL,
    reference varchar(64) COLLATE "C" NOT NULL,
    merchant varchar(64) COLLATE "C",
    bank jsonb,
    ours jsonb
) ON COMMIT DROP;
"""
COPY = "COPY reconciled_line FROM STDIN"
INDEX = """
CREATE INDEX ON reconciled_line (reference, type);
ANALYZE reconciled_line;
"""
FOREIGN = """
    DELETE FROM reconciled_line l
    WHERE l.merchant IS NOT NULL
      AND NOT EXISTS (SELECT FROM merchants_merchant m WHERE m.id = l.merchant)
    RETURNING l.number
"""
# The first one of each stays, to be compared.
TWICE = """
    WITH extra AS (
        DELETE FROM reconciled_line l USING (
            SELECT type, reference, min(number) AS first FROM reconciled_line
            GROUP BY type, reference HAVING count(*) > 1
        ) twice
        WHERE (l.type, l.reference) = (twice.type, twice.reference) AND l.number > twice.first
        RETURNING l.*
    )
    INSERT INTO reconciled_otherwise (verdict, day, type, reference, merchant, bank)
    SELECT DISTINCT ON (type, reference) 'twice', day, type, reference, merchant,
           jsonb_build_object('date', day, 'merchant', merchant, 'currency', currency,
                              'amount', amount)
    FROM extra ORDER BY type, reference, number
"""
DAYS = "SELECT DISTINCT day FROM reconciled_line WHERE number > 0 ORDER BY day"
COUNT = "SELECT count(*) FROM reconciled_line"
# A file that is whole speaks for its days: their lines that it does not have are gone.
KEPT = """
    INSERT INTO reconciled_line
    SELECT 0, k.day, k.type, k.reference, k.merchant_id, k.currency, k.amount, k.value_date
    FROM reconciliation_keptline k
    WHERE NOT k.day = ANY(%s) AND NOT EXISTS (
        SELECT FROM reconciled_line l WHERE (l.type, l.reference) = (k.type, k.reference)
    )
"""


def prepare() -> None:
    """Make the tables, in the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)


def copy(lines: Iterable[Line], merchants: Mapping[str, str]) -> None:
    """Write a file's lines into the table.

    :param merchants: by the bank's number the id of a merchant, or `ANY_MERCHANT`; a number that is
        not in it is an id.
    """
    with connection.cursor() as cursor, cursor.copy(COPY) as table:
        rows = (_row(line, merchants) for line in lines)
        while batch := "".join(islice(rows, BATCH)):
            table.write(batch.encode())


def _row(line: Line, merchants: Mapping[str, str]) -> str:
    # None of the fields may hold a character that COPY knows: `audit.reconciliation.lines`.
    number, day, kind, reference, merchant, currency, amount, value_date = line
    known = merchants.get(merchant, merchant)
    owner = r"\N" if known in ("", ANY_MERCHANT) else known
    credited = value_date or r"\N"
    return f"{number}\t{day}\t{kind}\t{reference}\t{owner}\t{currency}\t{amount}\t{credited}\n"


def drop_foreign() -> list[int]:
    """Take out the lines of merchants whom we do not know; return their numbers."""
    with connection.cursor() as cursor:
        cursor.execute(FOREIGN)
        return sorted(number for (number,) in cursor.fetchall())


def split_twice() -> None:
    """Index the lines, and take out those that the file has a second time."""
    with connection.cursor() as cursor:
        cursor.execute(INDEX)
        cursor.execute(TWICE)


def days() -> list[date]:
    """Return the booking days that the file has lines of."""
    return [day for (day,) in _asked(DAYS)]


def count() -> int:
    """Return the number of lines that are compared."""
    [[lines]] = _asked(COUNT)
    return int(lines)


def add_kept(covered: list[date]) -> None:
    """Add the kept lines of earlier files, except those of the covered days."""
    with connection.cursor() as cursor:
        cursor.execute(KEPT, [covered])


def _asked(query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()
