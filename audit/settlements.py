"""The checks of settlement: a run moved what its row says, and nothing due is left for long.

A part of a charge is settled by a run that has reached both its date and its entry. It is due on
the first date of the merchant's that is no date of a run before it was written.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from audit import queries
from audit.findings import Findings
from core import clock

# Looks come every two seconds; one may be held up.
GRACE = timedelta(minutes=1)

RUNS = "SELECT count(*) FROM ledger_run"
OTHERWISE_MOVED = """
    SELECT format('run %s says that it settled %s %s of merchant %s, its movement has %s',
                  r.id, r.amount, r.currency, r.merchant_id, coalesce(moved.available, 0))
    FROM ledger_run r
    LEFT JOIN LATERAL (
        SELECT sum(e.amount) FILTER (WHERE e.available_on IS NULL) AS available,
            sum(e.amount) FILTER (WHERE e.available_on IS NOT NULL) AS pending,
            max(e.available_on) AS last
        FROM ledger_movement m
        JOIN ledger_entry e ON (e.merchant_id, e.movement_id) = (m.merchant_id, m.id)
        WHERE (m.merchant_id, m.kind, m.cause_id) = (r.merchant_id, 'settlement', r.id)
    ) moved ON true
    WHERE coalesce(moved.available, 0) <> r.amount
       OR coalesce(-moved.pending, 0) <> r.amount
       OR moved.last > r.date
"""
RUNLESS = """
    SELECT format('movement %s settles for %s, and there is no such run', m.id, m.cause_id)
    FROM ledger_movement m
    LEFT JOIN ledger_run r ON (r.merchant_id, r.id) = (m.merchant_id, m.cause_id)
    WHERE m.kind = 'settlement' AND r.id IS NULL
"""
SETTLEMENTS = "SELECT count(*) FROM ledger_movement WHERE kind = 'settlement'"
# By date: a run takes all of its dates, so that what it has reached sums to nothing.
PENDING = "SELECT count(*) FROM ledger_account WHERE kind = 'pending'"
LEFT = """
    SELECT format('merchant %%s has %%s %%s of %%s or before that no run has settled',
                  m.id, sum(e.amount), e.currency, local.today)
    FROM merchants_merchant m
    CROSS JOIN LATERAL (
        SELECT (%(before)s::timestamptz AT TIME ZONE m.timezone)::date AS today
    ) local
    JOIN ledger_entry e ON e.merchant_id = m.id AND e.available_on <= local.today
        AND e.account_id = m.id || '.' || e.currency || '.pending'
    JOIN ledger_movement v ON (v.merchant_id, v.id) = (e.merchant_id, e.movement_id)
        AND v.created_at <= %(before)s
    WHERE NOT EXISTS (
        SELECT FROM ledger_run r
        WHERE (r.merchant_id, r.currency) = (e.merchant_id, e.currency) AND r.date >= local.today
    )
    GROUP BY m.id, e.currency, local.today HAVING sum(e.amount) <> 0
"""


def left() -> Findings:
    """Report merchants of whom something has been due for longer than a minute."""
    before = clock.now() - GRACE
    return queries.look("nothing due is left", PENDING, LEFT, before=before)


CHECKS: list[Callable[[], Findings]] = [
    partial(queries.look, "runs moved what they say", RUNS, OTHERWISE_MOVED),
    partial(queries.look, "settlements have their run", SETTLEMENTS, RUNLESS),
    left,
]
