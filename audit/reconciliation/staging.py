"""The lines of one reading, in a table of its own that ends with its transaction.

The lines are copied in as they are read: neither we nor the database keep the file in memory.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from itertools import islice
from typing import Any

from django.db import connection

from acquirers.models import Terminal
from audit.reconciliation.lines import Line
from audit.reconciliation.of_terminals import is_covered, is_same

BATCH = 2000
# The bank's number stands for all merchants of this installation.
ANY_MERCHANT = "*"
# A kept line has the number 0. `told` is the reference as the file has it, `reference` ours.
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
    value_date date,
    told varchar(64) COLLATE "C" NOT NULL,
    terminal varchar(40) COLLATE "C"
) ON COMMIT DROP;
CREATE TEMPORARY TABLE reconciled_otherwise (
    position bigint GENERATED ALWAYS AS IDENTITY,
    verdict varchar(20) NOT NULL,
    day date NOT NULL,
    type varchar(20) COLLATE "C" NOT NULL,
    reference varchar(64) COLLATE "C" NOT NULL,
    merchant varchar(64) COLLATE "C",
    terminal varchar(40) COLLATE "C",
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
    INSERT INTO reconciled_otherwise (verdict, day, type, reference, merchant, terminal, bank)
    SELECT DISTINCT ON (type, reference) 'twice', day, type, reference, merchant, terminal,
           jsonb_build_object('date', day, 'merchant', merchant, 'currency', currency,
                              'amount', amount)
    FROM extra ORDER BY type, reference, number
"""
DAYS = "SELECT DISTINCT day FROM reconciled_line WHERE number > 0 ORDER BY day"
COUNT = "SELECT count(*) FROM reconciled_line"
# A file that is whole speaks for its days: their lines that it does not have are gone.
KEPT = """
    INSERT INTO reconciled_line
    SELECT 0, k.day, k.type, k.reference, k.merchant_id, k.currency, k.amount, k.value_date,
           k.reference, k.terminal_id
    FROM reconciliation_keptline k
    WHERE NOT (k.day = ANY(%(covered)s) AND {covers}) AND NOT EXISTS (
        SELECT FROM reconciled_line l
        WHERE (l.type, l.told) = (k.type, k.reference) AND {same}
    )
"""
# A bank without names of refunds has the order's reference and a number of its own, which the
# refund has kept. One that may be that of a refund without a number, still under way, waits for it.
# The refund of a late charge is its order's only one, and keeps no number: one line alone is it.
NAME_REFUNDS = """
    UPDATE reconciled_line l SET reference = coalesce(
        (SELECT r.acquirer_reference
         FROM intents_attempt t JOIN refunds_refund r
             ON (r.merchant_id, r.attempt_id) = (t.merchant_id, t.id) AND r.method = 'refund'
         WHERE t.acquirer_reference = split_part(l.told, '-', 1) AND t.terminal_id = l.terminal
           AND (EXISTS (
                   SELECT FROM jsonb_each_text(r.bank_numbers) n
                   WHERE n.value = split_part(l.told, '-', 2)
               ) OR r.status = 'pending' AND r.bank_numbers IS NULL AND r.amount = l.amount)
         ORDER BY r.bank_numbers IS NULL, r.created_at, r.id LIMIT 1),
        (SELECT m.refund_reference
         FROM intents_attempt t JOIN intents_modification m
             ON (m.merchant_id, m.attempt_id) = (t.merchant_id, t.id) AND m.kind = 'reverse'
         WHERE t.acquirer_reference = split_part(l.told, '-', 1) AND t.terminal_id = l.terminal
           AND m.refund_reference IS NOT NULL
           AND NOT EXISTS (
               SELECT FROM reconciled_line b
               WHERE (b.type, b.terminal) = (l.type, l.terminal) AND b.told < l.told
                 AND b.reference >= t.acquirer_reference || '-'
                 AND b.reference < t.acquirer_reference || '.'
           )
         LIMIT 1),
        l.told
    )
    WHERE l.type IN ('refund', 'refund_return') AND l.terminal IS NOT NULL
      AND l.told LIKE '%-%'
"""


def prepare() -> None:
    """Make the tables, in the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)


def copy(
    lines: Iterable[Line], merchants: Mapping[str, str], terminal: Terminal | None = None
) -> None:
    """Write a file's lines into the table.

    :param merchants: by the bank's number the id of a merchant, or `ANY_MERCHANT`; a number that is
        not in it is an id.
    :param terminal: the one whose file it is; None for the installation's. Its merchant is that of
        each line that names none.
    """
    with connection.cursor() as cursor, cursor.copy(COPY) as table:
        owner = (terminal.merchant_id if terminal else None) or r"\N"
        rows = (_row(line, merchants, owner, terminal) for line in lines)
        while batch := "".join(islice(rows, BATCH)):
            table.write(batch.encode())


def _row(line: Line, merchants: Mapping[str, str], owner: str, terminal: Terminal | None) -> str:
    # None of the fields may hold a character that COPY knows: `audit.reconciliation.lines`.
    number, day, kind, reference, merchant, currency, amount, value_date = line
    known = merchants.get(merchant, merchant)
    whose = {"": owner, ANY_MERCHANT: r"\N"}.get(known, known)
    credited, at = value_date or r"\N", terminal.id if terminal else r"\N"
    return (
        f"{number}\t{day}\t{kind}\t{reference}\t{whose}\t{currency}\t{amount}\t{credited}"
        f"\t{reference}\t{at}\n"
    )


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


def add_kept(covered: list[date], terminal: Terminal | None) -> None:
    """Add the kept lines of earlier files, except those for which this file speaks.

    :param terminal: the one whose file it is; None for the installation's.
    """
    query = KEPT.format(
        covers=is_covered("k.terminal_id"), same=is_same("l.terminal", "k.terminal_id")
    )
    with connection.cursor() as cursor:
        cursor.execute(query, {"covered": covered, "terminal": terminal.id if terminal else None})


def name_refunds() -> None:
    """Give each refund that its bank knows by a number alone our reference of it, if there is one.

    What the number does not name stays as the file has it.
    """
    with connection.cursor() as cursor:
        cursor.execute(NAME_REFUNDS)


def _asked(query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()
