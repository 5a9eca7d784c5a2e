"""The comparison of the lines of a reading with our books, type by type, in the database."""

from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from acquirers.models import Terminal
from audit.reconciliation.models import Difference
from audit.reconciliation.of_terminals import is_covered, is_same
from audit.reconciliation.sources import SOURCES, Source
from core import local_days

# Verdicts about a line that are no difference, and keep it for later readings. The last one is of a
# line that agrees with what was booked here at no moment: money that left and came back unseen.
WAITS, OTHER_DAY, BESIDE_ANOTHER = "waits", "other_day", "beside_another"
NO_DIFFERENCE = [WAITS, OTHER_DAY, BESIDE_ANOTHER]
BANKS_SIDE = """
    jsonb_build_object('date', l.day, 'merchant', l.merchant, 'currency', l.currency,
                       'amount', l.amount)
"""
OUR_SIDE = """
    jsonb_build_object('object', o.object, 'merchant', o.merchant, 'currency', o.currency,
                       'amount', o.amount, 'date', (o.at AT TIME ZONE %(zone)s)::date)
"""
# By lookups, line by line: what it costs grows with the file, and not with our books.
LINES = """
    INSERT INTO reconciled_otherwise
        (verdict, day, type, reference, merchant, terminal, bank, ours)
    SELECT compared.* FROM (
        SELECT CASE
                   WHEN o.reference IS NULL THEN '{missing_here}'
                   WHEN o.is_doubtful THEN '{waits}'
                   WHEN l.merchant <> o.merchant THEN '{merchant}'
                   WHEN l.currency <> o.currency THEN '{currency}'
                   WHEN l.amount <> o.amount THEN '{amount}'
                   WHEN o.at IS NULL THEN '{beside_another}'
                   WHEN l.day <> (o.at AT TIME ZONE %(zone)s)::date THEN '{other_day}'
               END AS verdict,
               l.day, l.type, l.reference, coalesce(l.merchant, o.merchant) AS merchant,
               coalesce(l.terminal, o.terminal) AS terminal,
               {bank} AS bank, CASE WHEN o.reference IS NOT NULL THEN {ours} END AS ours
        FROM reconciled_line l
        LEFT JOIN LATERAL (
            SELECT * FROM ({rows}) found WHERE {of_line} LIMIT 1
        ) o ON true
        WHERE l.type = '{type}'
    ) compared
    WHERE verdict IS NOT NULL
"""
OURS = """
    INSERT INTO reconciled_otherwise (verdict, day, type, reference, merchant, terminal, ours)
    SELECT '{missing_there}', (o.at AT TIME ZONE %(zone)s)::date, '{type}', o.reference,
           o.merchant, o.terminal, {ours}
    FROM ({rows}) o
    WHERE NOT o.is_doubtful AND {covers} AND (o.at AT TIME ZONE %(zone)s)::date = ANY(%(days)s)
      AND NOT EXISTS (
          SELECT FROM reconciled_line l
          WHERE (l.type, l.reference) = ('{type}', o.reference) AND {of_ours}
      )
"""
VERDICTS = {
    "missing_here": Difference.Kind.MISSING_HERE,
    "missing_there": Difference.Kind.MISSING_THERE,
    "merchant": Difference.Kind.MERCHANT,
    "currency": Difference.Kind.CURRENCY,
    "amount": Difference.Kind.AMOUNT,
    "waits": WAITS,
    "other_day": OTHER_DAY,
    "beside_another": BESIDE_ANOTHER,
}
# The conditions on terminals. Transfers go by none, so no terminal's file lacks one.
TERMINALS = {
    "of_line": is_same("l.terminal", "found.terminal"),
    "of_ours": is_same("l.terminal", "o.terminal"),
    "covers": is_covered("o.terminal"),
}


def compare(days: list[date], terminal: Terminal | None) -> None:
    """Write down each line that does not plainly agree, and each booking without a line.

    A line of a terminal's agrees with a booking of that terminal alone.

    :param days: the booking days that the file speaks for.
    :param terminal: the one whose bookings alone the file has; None for all of the installation's.
    """
    for source in SOURCES:
        _compare_lines(source)
        if days:
            _find_ours(source, days, terminal)


def _compare_lines(source: Source) -> None:
    rows = source.of("l.reference")
    _write(LINES, source, rows, {})


def _find_ours(source: Source, days: list[date], terminal: Terminal | None) -> None:
    rows = source.booked_between("%(begin)s", "%(end)s")
    begin, end = _begin_of(days[0]), _begin_of(days[-1] + timedelta(days=1))
    whose = {"terminal": terminal.id if terminal else None}
    _write(OURS, source, rows, {"days": days, "begin": begin, "end": end, **whose})


def _write(statement: str, source: Source, rows: str, values: dict[str, Any]) -> None:
    written = statement.format(
        **VERDICTS, **TERMINALS, type=source.type, rows=rows, bank=BANKS_SIDE, ours=OUR_SIDE
    )
    with connection.cursor() as cursor:
        cursor.execute(written, {"zone": settings.BANK_TIMEZONE, **values})


def _begin_of(day: date) -> datetime:
    return local_days.begins(day, settings.BANK_TIMEZONE)
