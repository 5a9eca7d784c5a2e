"""The agenda of settlement: for each merchant and currency, the next date with something due.

Charges write nothing into it, because two of a merchant never wait for each other. A job goes over
the journal's new entries instead, and notes their dates. A run that settles a merchant holds the
merchant's row of the agenda, and then writes the next date into it.
"""

from datetime import date, datetime, timedelta
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Max

from core import local_days, prepared
from ledger import boundary
from ledger.models import Account, Agenda, Due, LedgerEntry, Run
from ledger.models.accounts import account_id
from merchants.models import Merchant

CHUNK = 50_000
# So long a look waits for transactions that may still write below its boundary.
PATIENCE_SECONDS = 1.0
# No place on earth is further ahead of UTC.
FARTHEST_AHEAD = timedelta(hours=14)

BEGIN = """
INSERT INTO ledger_agenda (id, reached)
SELECT 1, 0 WHERE NOT EXISTS (SELECT FROM ledger_agenda) ON CONFLICT DO NOTHING
"""
# A row that is locked is another look's, which is at work.
HOLD = """
SELECT reached FROM ledger_agenda
WHERE id = 1 AND reached < %(upto)s FOR NO KEY UPDATE SKIP LOCKED
"""
# Only what comes in makes something due: what goes out of `pending` has a date of what came in.
NOTE = """
WITH chunk AS MATERIALIZED (
    SELECT id, merchant_id, currency, amount, available_on FROM ledger_entry
    WHERE id > %(reached)s AND id <= %(upto)s ORDER BY id LIMIT %(most)s
), noted AS (
    INSERT INTO ledger_due AS known (merchant_id, currency, due_on)
    SELECT merchant_id, currency, min(available_on) FROM chunk
    WHERE available_on IS NOT NULL AND amount > 0
    GROUP BY merchant_id, currency ORDER BY merchant_id, currency
    ON CONFLICT (merchant_id, currency) DO UPDATE SET
        due_on = least(known.due_on, greatest(EXCLUDED.due_on, known.settled_on + 1))
), counted AS (
    SELECT count(*) AS entries, max(id) AS last FROM chunk
)
UPDATE ledger_agenda
SET reached = CASE WHEN entries < %(most)s THEN %(upto)s ELSE last END
FROM counted WHERE ledger_agenda.id = 1 RETURNING entries
"""
CLAIM = """
SELECT true FROM ledger_due
WHERE merchant_id = %(merchant)s::text AND currency = %(currency)s::text
    AND due_on <= %(on)s::date
FOR NO KEY UPDATE SKIP LOCKED
"""
ENSURE = """
INSERT INTO ledger_due (merchant_id, currency) VALUES (%(merchant)s, %(currency)s)
ON CONFLICT (merchant_id, currency) DO NOTHING
"""
# Both halves read an index from the last run on, however much lies before it: `OFFSET 0` keeps
# PostgreSQL from looking for the least date of new entries among all dates.
PLAN = """
WITH open AS MATERIALIZED (
    SELECT least(
        (SELECT min(available_on) FROM ledger_entry
         WHERE merchant_id = %(merchant)s AND account_id = %(account)s AND amount > 0
           AND available_on > coalesce(%(settled_on)s, date '-infinity')),
        (SELECT min(available_on) FROM (
            SELECT available_on FROM ledger_entry
            WHERE merchant_id = %(merchant)s AND account_id = %(account)s AND amount > 0
              AND id > %(boundary)s
            OFFSET 0
        ) AS late)
    ) AS first
)
UPDATE ledger_due SET settled_on = %(settled_on)s,
    due_on = CASE WHEN first IS NOT NULL THEN greatest(first, %(settled_on)s::date + 1) END
FROM open WHERE merchant_id = %(merchant)s AND currency = %(currency)s
"""


class Pot(NamedTuple):
    """A merchant's money in a currency, of which something is due."""

    merchant_id: str
    currency: str


def note() -> int:
    """Note the dates of new entries; return a boundary below which nothing can be committed.

    While an earlier transaction stays open, the last boundary is returned; a later look notes
    the rest. Safe to kill anywhere, and to run twice at a time.
    """
    reached = _reached()
    newest = LedgerEntry.objects.aggregate(newest=Max("id"))["newest"] or 0
    if newest <= reached:
        return reached
    edge = boundary.find(patience_seconds=PATIENCE_SECONDS)
    if edge is None:
        return reached
    while _note_some(edge):
        pass
    # Another look may be at it still: its entries are noted, or not looked for by this one.
    return edge


def is_up_to_date() -> bool:
    """Note the dates of new entries; return whether all that were committed before are noted.

    False while an earlier transaction stays open: it holds back runs, too.
    """
    newest = LedgerEntry.objects.aggregate(newest=Max("id"))["newest"] or 0
    note()
    return _reached() >= newest


def zones(now: datetime) -> dict[str, date]:
    """Return the local dates of the time zones in which something may be due."""
    latest = (now + FARTHEST_AHEAD).date()
    merchants = Merchant.objects.filter(
        id__in=Due.objects.filter(due_on__lte=latest).values("merchant_id")
    )
    names = merchants.values_list("timezone", flat=True).distinct()
    return {name: local_days.of(now, name) for name in names}


def due(zone: str, on: date, *, after: Pot | None = None, most: int) -> list[Pot]:
    """Return pots of merchants in a time zone with something due, in order.

    :param on: the local date.
    :param after: the last one of the list before.
    """
    rows = Due.objects.filter(due_on__lte=on, merchant__timezone=zone)
    if after:
        rows = rows.filter(merchant_id__gte=after.merchant_id).exclude(
            merchant_id=after.merchant_id, currency__lte=after.currency
        )
    ordered = rows.order_by("merchant_id", "currency").values_list("merchant_id", "currency")
    return [Pot(*row) for row in ordered[:most]]


def claim(pot: Pot, on: date) -> bool:
    """Hold a pot until the transaction ends; False if it is another's, or not due any more."""
    values = {"merchant": pot.merchant_id, "currency": pot.currency, "on": str(on)}
    return bool(prepared.rows(CLAIM, values))


def hold(pot: Pot) -> None:
    """Hold a pot until the transaction ends, whether something is due or not."""
    with connection.cursor() as cursor:
        cursor.execute(ENSURE, pot._asdict() | {"merchant": pot.merchant_id})
    rows = Due.objects.select_for_update(no_key=True)
    rows.get(merchant_id=pot.merchant_id, currency=pot.currency)


def plan(pot: Pot, last: Run | None) -> None:
    """Write down the next date on which something of a pot is due; the caller holds it.

    What was noted before was committed before, and is seen here; what is noted later waits for the
    caller's transaction.

    :param last: the last run, by which late parts are due on the day after it.
    """
    values = {
        "merchant": pot.merchant_id,
        "currency": pot.currency,
        "account": account_id(*pot, Account.Kind.PENDING),
        "settled_on": last.date if last else None,
        "boundary": last.boundary if last else 0,
    }
    with connection.cursor() as cursor:
        cursor.execute(PLAN, values)


@transaction.atomic(durable=True)
def _reached() -> int:
    found = Agenda.objects.values_list("reached", flat=True).first()
    if found is not None:
        return found
    with connection.cursor() as cursor:
        cursor.execute(BEGIN)
    return 0


@transaction.atomic(durable=True)
def _note_some(edge: int) -> int:
    """Note one chunk of entries; return how many it were, 0 if another look is at work."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"upto": edge})
        row = cursor.fetchone()
        if row is None:
            return 0
        cursor.execute(NOTE, {"reached": row[0], "upto": edge, "most": CHUNK})
        [(entries,)] = cursor.fetchall()
    return entries
