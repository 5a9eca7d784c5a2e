"""The checks of statements: their lines and balances are those of the entries, counted again.

An entry belongs to the first statement that ends after its movement's instant and knows of it.
"""

from collections.abc import Callable
from functools import partial

from audit import queries
from audit.findings import Findings

MADE = "SELECT count(*) FROM statements_statement"
_OF_ENTRIES = """
    SELECT own.id, entries.type,
           count(*) FILTER (WHERE is_first AND type <> '') AS count,
           coalesce(sum(amount) FILTER (WHERE kind = 'fees'), 0) AS fee,
           coalesce(sum(amount) FILTER (WHERE kind = 'surcharge'), 0) AS surcharge,
           coalesce(sum(amount) FILTER (WHERE kind = 'available'), 0) AS available,
           coalesce(sum(amount) FILTER (WHERE kind = 'pending'), 0) AS pending,
           coalesce(sum(amount) FILTER (WHERE kind = 'reserved'), 0) AS reserved
    FROM (
        SELECT e.id, e.merchant_id, e.currency, e.amount, a.kind, m.created_at,
               coalesce(m.type, '') AS type,
               e.id = min(e.id) OVER (PARTITION BY e.movement_id) AS is_first
        FROM ledger_entry e
        JOIN ledger_movement m ON m.id = e.movement_id
        JOIN ledger_account a ON a.id = e.account_id
    ) AS entries
    JOIN LATERAL (
        SELECT s.id FROM statements_statement s
        WHERE (s.merchant_id, s.currency) = (entries.merchant_id, entries.currency)
            AND s.ends_at > entries.created_at AND s.boundary >= entries.id
        ORDER BY s.month LIMIT 1
    ) AS own ON true
    GROUP BY own.id, entries.type
"""
WRONG_LINES = f"""
    WITH counted AS ({_OF_ENTRIES}), made AS (
        SELECT id, line ->> 0 AS type, (line ->> 1)::numeric AS count,
               (line ->> 2)::numeric AS amount, (line ->> 3)::numeric AS fee,
               (line ->> 4)::numeric AS net
        FROM statements_statement, jsonb_array_elements(lines) AS line
    )
    SELECT format('statement %s has %s %s with net %s, its entries make %s with net %s',
                  id, made.count, type, made.net, counted.count, available + pending)
    FROM made FULL JOIN (SELECT * FROM counted WHERE type <> '') AS counted USING (id, type)
    WHERE (coalesce(made.count, 0), coalesce(made.amount, 0), coalesce(made.fee, 0),
           coalesce(made.net, 0))
        <> (coalesce(counted.count, 0), coalesce(available + pending + counted.fee, 0),
            coalesce(counted.fee, 0), coalesce(available + pending, 0))
"""  # noqa: S608
WRONG_BALANCES = f"""
    WITH counted AS (
        SELECT id, sum(available) AS available, sum(pending) AS pending, sum(reserved) AS reserved,
               sum(surcharge) AS surcharge
        FROM ({_OF_ENTRIES}) AS of_types GROUP BY id
    ), booked AS (
        SELECT s.*, coalesce(counted.surcharge, 0) AS counted_surcharge,
               coalesce(sum(counted.available) OVER months, 0) AS counted_available,
               coalesce(sum(counted.pending) OVER months, 0) AS counted_pending,
               coalesce(sum(counted.reserved) OVER months, 0) AS counted_reserved,
               lag(closing, 1, 0::bigint) OVER months AS last_closing,
               lag(ends_at, 1, begins_at) OVER months AS last_end,
               (SELECT sum((line ->> 4)::numeric) FROM jsonb_array_elements(lines) AS line)
                   AS changed
        FROM statements_statement s LEFT JOIN counted USING (id)
        WINDOW months AS (PARTITION BY merchant_id, currency ORDER BY month)
    )
    SELECT format('statement %s: %s available, %s pending, %s reserved from %s on; its entries make'
                  ' %s, %s, %s, and the one before ended with %s',
                  id, available, pending, reserved, opening, counted_available, counted_pending,
                  counted_reserved, last_closing)
    FROM booked
    WHERE (available, pending, reserved, surcharge, opening, begins_at, net)
        <> (counted_available, counted_pending, counted_reserved, counted_surcharge, last_closing,
            last_end, changed)
"""  # noqa: S608
CHECKS: list[Callable[[], Findings]] = [
    partial(queries.look, "lines of statements are their entries", MADE, WRONG_LINES),
    partial(queries.look, "balances of statements are their entries", MADE, WRONG_BALANCES),
]
