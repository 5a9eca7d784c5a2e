"""Checks of payouts against the ledger.

Rows of `(name, query that counts, query of sentences)`, as in `audit.queries` (I7).
"""

OF_PAYOUTS = "('payout', 'payout_paid', 'payout_returned', 'payout_bounced')"
# Sums of each payout's movements, by account.
OF_A_PAYOUT = f"""
    SELECT m.merchant_id, m.cause_id, m.currency,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'payouts'), 0) AS payouts,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'transfers'), 0) AS transfers,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'available'), 0) AS available
    FROM ledger_movement m
    JOIN ledger_entry e ON e.movement_id = m.id
    JOIN ledger_account a ON a.id = e.account_id
    WHERE m.kind IN {OF_PAYOUTS}
    GROUP BY m.merchant_id, m.cause_id, m.currency
"""  # noqa: S608

QUERIES = {
    "payouts are in the ledger": (
        "SELECT count(*) FROM payouts_payout",
        f"""
        SELECT format('payout %s is %s with %s %s; the ledger has %s on its way, %s transferred'
                      ' and %s of the balance', p.id, p.status, p.amount, p.currency,
                      coalesce(l.payouts, 0), coalesce(l.transfers, 0), coalesce(l.available, 0))
        FROM payouts_payout p
        LEFT JOIN ({OF_A_PAYOUT}) l
            ON (l.cause_id, l.merchant_id, l.currency) = (p.id, p.merchant_id, p.currency)
        WHERE coalesce(l.payouts, 0) <>
                  CASE WHEN p.status IN ('pending', 'in_transit') THEN p.amount ELSE 0 END
           OR coalesce(l.transfers, 0) <> CASE WHEN p.status = 'paid' THEN p.amount ELSE 0 END
           OR coalesce(l.available, 0) <>
                  CASE WHEN p.status IN ('failed', 'canceled') THEN 0 ELSE -p.amount END
        """,  # noqa: S608
    ),
    "movements of payouts have their payout": (
        f"SELECT count(*) FROM ledger_movement WHERE kind IN {OF_PAYOUTS}",  # noqa: S608
        f"""
        SELECT format('movement %s: %s of %s, and the merchant has no such payout',
                      m.id, m.kind, m.cause_id)
        FROM ledger_movement m
        LEFT JOIN payouts_payout p ON (p.id, p.merchant_id) = (m.cause_id, m.merchant_id)
        WHERE m.kind IN {OF_PAYOUTS} AND p.id IS NULL
        """,  # noqa: S608
    ),
}
