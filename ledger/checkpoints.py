"""Checkpoints: sums that a job keeps, so that a balance reads only the entries behind them.

Entries get their ids before they are committed, and a later id may be committed first. The job
therefore goes only as far as a boundary that nothing can be committed below any more: it notes the
newest id as the next boundary, and adds the entries up to it once every transaction has ended that
ran then. While one of them is open, it leaves that to its next run.

PostgreSQL keeps with each row the number of the transaction that wrote it (`xmin`): it shows when
the boundary was noted. As no column has that number, a restored dump has none of another cluster:
there the row is as old as the restore.
"""

import time

import structlog
from django.db import connection, transaction
from django.db.models import F

from ledger.models import Boundary

CHUNK = 50_000
# A run is short, because the same worker resolves open payments; the next run goes on.
RUN_SECONDS = 3

# Only where it is missing: to insert it beside another run would be to wait for that one's end.
BEGIN = """
INSERT INTO ledger_boundary (id, reached, next)
SELECT 1, 0, 0 WHERE NOT EXISTS (SELECT FROM ledger_boundary) ON CONFLICT DO NOTHING
"""

# In one statement: its snapshot is older than the number that its transaction gets, with which the
# row is written. Whatever got an entry's id before the snapshot had its own number before that
# (the journal writes the movement first), so that its number is the lower one.
# A row that is locked is another run's, which is at work.
NOTE_NEXT = """
UPDATE ledger_boundary SET next = newest.id
FROM (SELECT max(id) AS id FROM ledger_entry) AS newest
WHERE newest.id > next
    AND ledger_boundary.id = (
        SELECT id FROM ledger_boundary WHERE reached = next FOR NO KEY UPDATE SKIP LOCKED
    )
"""

# Ages count backwards from the newest transaction, and a row has the age of its writer: below 0 if
# that was two thousand million transactions ago. All that began before it has ended if the oldest
# that still runs is younger.
SAFE = """
SELECT next FROM ledger_boundary
WHERE age(xmin) NOT BETWEEN 0 AND age(pg_snapshot_xmin(pg_current_snapshot())::xid)
"""

HOLD = """
SELECT reached FROM ledger_boundary
WHERE id = 1 AND reached < %(upto)s FOR NO KEY UPDATE SKIP LOCKED
"""

# Each checkpoint says itself which entries are in it: none is added twice, even if the row of the
# boundary were lost. So does each sum of a day. A movement may lie in two chunks: its first entry
# counts it. Movements are looked up one by one: for a join PostgreSQL might read them all.
ADD = """
WITH chunk AS MATERIALIZED (
    SELECT id, merchant_id, movement_id, account_id, currency, amount FROM ledger_entry
    WHERE id > %(reached)s AND id <= %(upto)s ORDER BY id LIMIT %(most)s
), added AS (
    INSERT INTO ledger_checkpoint AS kept (account_id, merchant_id, currency, sum, boundary)
    SELECT account_id, chunk.merchant_id, chunk.currency, sum(chunk.amount), max(chunk.id)
    FROM chunk LEFT JOIN ledger_checkpoint AS before USING (account_id)
    WHERE chunk.id > coalesce(before.boundary, 0)
    GROUP BY account_id, chunk.merchant_id, chunk.currency
    ON CONFLICT (account_id)
        DO UPDATE SET sum = kept.sum + EXCLUDED.sum, boundary = EXCLUDED.boundary
), moved AS MATERIALIZED (
    SELECT id, merchant_id, currency, amount, split_part(account_id, '.', 3) AS kind, day, type,
           type <> '' AND id = min(id) OVER (PARTITION BY movement_id) AND (
               SELECT earlier.id FROM ledger_entry AS earlier
               WHERE earlier.movement_id = chunk.movement_id AND earlier.id <= %(reached)s LIMIT 1
           ) IS NULL AS is_first
    FROM chunk CROSS JOIN LATERAL (
        SELECT (created_at AT TIME ZONE 'UTC')::date AS day, coalesce(type, '') AS type
        FROM ledger_movement WHERE ledger_movement.id = chunk.movement_id OFFSET 0
    ) AS movement
), days AS MATERIALIZED (
    SELECT merchant_id, currency, day, type, coalesce((
        SELECT boundary FROM ledger_daysum AS before
        WHERE (before.merchant_id, before.currency, before.day, before.type)
            = (days.merchant_id, days.currency, days.day, days.type)
    ), 0) AS boundary
    FROM (SELECT DISTINCT merchant_id, currency, day, type FROM moved) AS days
), summed AS (
    INSERT INTO ledger_daysum AS kept (merchant_id, currency, day, type, count, fee, surcharge,
                                       available, pending, reserved, boundary)
    SELECT merchant_id, currency, day, type, count(*) FILTER (WHERE is_first),
           coalesce(sum(amount) FILTER (WHERE kind = 'fees'), 0),
           coalesce(sum(amount) FILTER (WHERE kind = 'surcharge'), 0),
           coalesce(sum(amount) FILTER (WHERE kind = 'available'), 0),
           coalesce(sum(amount) FILTER (WHERE kind = 'pending'), 0),
           coalesce(sum(amount) FILTER (WHERE kind = 'reserved'), 0), max(id)
    FROM moved JOIN days USING (merchant_id, currency, day, type)
    WHERE id > days.boundary
    GROUP BY merchant_id, currency, day, type
    ON CONFLICT (merchant_id, currency, day, type)
        DO UPDATE SET count = kept.count + EXCLUDED.count, fee = kept.fee + EXCLUDED.fee,
            surcharge = kept.surcharge + EXCLUDED.surcharge,
            available = kept.available + EXCLUDED.available,
            pending = kept.pending + EXCLUDED.pending,
            reserved = kept.reserved + EXCLUDED.reserved, boundary = EXCLUDED.boundary
), counted AS (
    SELECT count(*) AS entries, max(id) AS last FROM chunk
)
UPDATE ledger_boundary
SET reached = CASE WHEN entries < %(most)s THEN %(upto)s ELSE last END
FROM counted WHERE ledger_boundary.id = 1 RETURNING entries
"""

log = structlog.get_logger(__name__)


def advance() -> int:
    """Add new entries to the checkpoints, for 3 s at most; return how many it were.

    Each chunk is a transaction of its own that locks nothing which others need: safe to kill at any
    place, to run late, and to run twice at a time. A transaction that was open at the last run and
    still is holds it back, which is logged; balances stay right, and take longer to read.
    """
    ends_at = time.monotonic() + RUN_SECONDS
    _begin()
    safe = _safe()
    if not safe and _is_awaited():
        log.warning("checkpoints_held_back")
    added = _add_up_to(safe, ends_at)
    _note_next()
    # At once if nothing runs beside it; otherwise it is the next run's.
    added += _add_up_to(_safe(), ends_at)
    if added:
        log.info("checkpoints_advanced", entries=added)
    return added


def _add_up_to(boundary: int, ends_at: float) -> int:
    added = 0
    while time.monotonic() < ends_at and (entries := _add_some(boundary)):
        added += entries
    return added


@transaction.atomic(durable=True)
def _begin() -> None:
    with connection.cursor() as cursor:
        cursor.execute(BEGIN)


@transaction.atomic(durable=True)
def _note_next() -> None:
    with connection.cursor() as cursor:
        cursor.execute(NOTE_NEXT)


@transaction.atomic(durable=True)
def _safe() -> int:
    """Return the boundary below which nothing can be committed any more; 0 if it is to be awaited.

    Once it is safe, it stays safe: no lock is needed.
    """
    with connection.cursor() as cursor:
        cursor.execute(SAFE)
        row = cursor.fetchone()
    return row[0] if row else 0


def _is_awaited() -> bool:
    return Boundary.objects.filter(reached__lt=F("next")).exists()


@transaction.atomic(durable=True)
def _add_some(boundary: int) -> int:
    """Add one chunk of entries; return how many it were, 0 if another run is at work."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"upto": boundary})
        row = cursor.fetchone()
        if row is None:
            return 0
        cursor.execute(ADD, {"reached": row[0], "upto": boundary, "most": CHUNK})
        [(entries,)] = cursor.fetchall()
    return entries
