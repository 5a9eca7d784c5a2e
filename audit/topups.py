"""Checks of topups against the ledger.

Rows of `(name, query that counts, query of sentences)`, as in `audit.queries` (I7).
"""

OF_TOPUPS = "('topup', 'topup_reversed')"
# Sums of each topup's movements, by account.
OF_A_TOPUP = f"""
    SELECT m.merchant_id, m.cause_id, m.currency,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'transfers'), 0) AS transfers,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'available'), 0) AS available
    FROM ledger_movement m
    JOIN ledger_entry e ON e.movement_id = m.id
    JOIN ledger_account a ON a.id = e.account_id
    WHERE m.kind IN {OF_TOPUPS}
    GROUP BY m.merchant_id, m.cause_id, m.currency
"""  # noqa: S608

QUERIES = {
    "topups are in the ledger": (
        "SELECT count(*) FROM topups_topup",
        f"""
        SELECT format('topup %s is %s with %s %s; the ledger has %s transferred and %s of the'
                      ' balance', t.id, t.status, t.amount, t.currency,
                      coalesce(l.transfers, 0), coalesce(l.available, 0))
        FROM topups_topup t
        LEFT JOIN ({OF_A_TOPUP}) l
            ON (l.cause_id, l.merchant_id, l.currency) = (t.id, t.merchant_id, t.currency)
        WHERE coalesce(l.available, 0) <>
                  CASE WHEN t.status = 'succeeded' THEN t.amount ELSE 0 END
           OR coalesce(l.transfers, 0) <>
                  CASE WHEN t.status = 'succeeded' THEN -t.amount ELSE 0 END
        """,  # noqa: S608
    ),
    "movements of topups have their topup": (
        f"SELECT count(*) FROM ledger_movement WHERE kind IN {OF_TOPUPS}",  # noqa: S608
        f"""
        SELECT format('movement %s: %s of %s, and the merchant has no such topup',
                      m.id, m.kind, m.cause_id)
        FROM ledger_movement m
        LEFT JOIN topups_topup t ON (t.id, t.merchant_id) = (m.cause_id, m.merchant_id)
        WHERE m.kind IN {OF_TOPUPS} AND t.id IS NULL
        """,  # noqa: S608
    ),
    "topups are the transfers that came in": (
        "SELECT count(*) FROM topups_topup WHERE status IN ('succeeded', 'reversed')",
        """
        SELECT format('topup %s is %s with %s %s; its transfer %s is %s with %s %s',
                      t.id, t.status, t.amount, t.currency, coalesce(i.reference, 'is missing:'),
                      i.status, i.amount, i.currency)
        FROM topups_topup t
        LEFT JOIN topups_incomingtransfer i ON (i.topup_id, i.merchant_id) = (t.id, t.merchant_id)
        WHERE (t.status IN ('succeeded', 'reversed') OR i.id IS NOT NULL)
          AND ((t.amount, t.currency) IS DISTINCT FROM (i.amount, i.currency)
               OR CASE t.status WHEN 'succeeded' THEN i.status NOT IN ('matched', 'assigned')
                                WHEN 'reversed' THEN i.status <> 'reversed' ELSE true END)
        """,
    ),
}
