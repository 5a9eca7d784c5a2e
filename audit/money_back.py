"""Checks of money that goes back: refunds and disputes against payments and ledger.

Rows of `(name, query that counts, query of sentences)`, as in `audit.queries` (I7).
"""

# The merchant's accounts by cause, summed over all its movements.
OF_A_CAUSE = """
    SELECT m.merchant_id, m.cause_id, m.currency,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'refunds'), 0) AS refunds,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'reserved'), 0) AS reserved,
           coalesce(sum(e.amount) FILTER (WHERE a.kind = 'acquirer'), 0) AS acquirer
    FROM ledger_movement m
    JOIN ledger_entry e ON e.movement_id = m.id
    JOIN ledger_account a ON a.id = e.account_id
    GROUP BY m.merchant_id, m.cause_id, m.currency
"""
# The merchant's part of an open dispute, as it was held back.
HELD_BACK = """
    SELECT merchant_id, cause_id, -amount AS held FROM ledger_movement
    WHERE kind = 'dispute_opened'
"""
# The same as objects tell it: minor units, signed as entries are.
TOLD = """
    SELECT merchant_id, currency, 'acquirer' AS kind, -captured_minor AS amount
    FROM intents_attempt
    UNION ALL
    SELECT merchant_id, currency, 'acquirer', amount FROM refunds_refund
    WHERE status = 'succeeded'
    UNION ALL
    SELECT merchant_id, currency, 'refunds', amount FROM refunds_refund
    WHERE status = 'pending' AND pending_reason <> 'insufficient_funds'
    UNION ALL
    SELECT merchant_id, currency, 'acquirer', amount FROM disputes_dispute
    WHERE status = 'lost'
    UNION ALL
    SELECT d.merchant_id, d.currency, 'reserved', -m.amount FROM disputes_dispute d
    JOIN ledger_movement m ON m.kind = 'dispute_opened'
        AND (m.cause_id, m.merchant_id) = (d.id, d.merchant_id)
    WHERE d.status IN ('needs_response', 'under_review')
    UNION ALL
    SELECT merchant_id, currency, 'payouts', amount FROM payouts_payout
    WHERE status IN ('pending', 'in_transit')
"""
OF_REFUNDS = """(
    'refund', 'refund_paid', 'refund_returned', 'refund_bounced', 'void', 'void_undone'
)"""
OF_DISPUTES = "('dispute_opened', 'dispute_won', 'dispute_lost', 'dispute_regained')"

QUERIES = {
    "payments count their refunds and disputes": (
        "SELECT count(*) FROM intents_paymentintent WHERE captured_minor > 0",
        """
        SELECT format('payment %s counts %s refunded and %s disputed; its refunds are %s and its'
                      ' disputes %s', p.id, p.refunded_minor, p.disputed_minor,
                      coalesce(r.amount, 0), coalesce(d.amount, 0))
        FROM intents_paymentintent p
        LEFT JOIN (
            SELECT intent_id, sum(amount) AS amount FROM refunds_refund
            WHERE status IN ('pending', 'succeeded') GROUP BY intent_id
        ) r ON r.intent_id = p.id
        LEFT JOIN (
            SELECT intent_id, sum(amount) AS amount FROM disputes_dispute
            WHERE status IN ('needs_response', 'under_review', 'lost') GROUP BY intent_id
        ) d ON d.intent_id = p.id
        WHERE p.refunded_minor <> coalesce(r.amount, 0)
           OR p.disputed_minor <> coalesce(d.amount, 0)
        """,
    ),
    "refunds are in the ledger": (
        "SELECT count(*) FROM refunds_refund",
        f"""
        SELECT format('refund %s of %s is %s (%s) with %s %s; the ledger has %s on its way and %s'
                      ' given back by the acquirer', r.id, r.intent_id, r.status,
                      coalesce(r.pending_reason, r.failure_reason, r.method), r.amount, r.currency,
                      coalesce(l.refunds, 0), coalesce(l.acquirer, 0))
        FROM refunds_refund r
        LEFT JOIN ({OF_A_CAUSE}) l
            ON (l.cause_id, l.merchant_id, l.currency) = (r.id, r.merchant_id, r.currency)
        WHERE coalesce(l.refunds, 0) <>
                  CASE WHEN r.status = 'pending' AND r.pending_reason <> 'insufficient_funds'
                       THEN r.amount ELSE 0 END
           OR coalesce(l.acquirer, 0) <>
                  CASE WHEN r.status = 'succeeded' THEN r.amount ELSE 0 END
        """,  # noqa: S608
    ),
    # A bank that first refuses and then gives back has given it back for us; a person settles it.
    "refunds ended as the bank says": (
        "SELECT count(*) FROM refunds_refund WHERE status <> 'pending'",
        """
        SELECT DISTINCT format('refund %s of %s is %s as a %s, and the bank has said yes to a %s',
                               r.id, r.intent_id, r.status, r.method, e.operation)
        FROM refunds_refund r
        JOIN acquirers_bankexchange e ON e.answer = 'approved'
            AND (e.attempt_id, e.operation_id) = (r.attempt_id, r.id)
        WHERE r.method = 'refund' AND e.operation IN ('void', 'modification_inquiry')
           OR r.status IN ('failed', 'canceled')
              AND NOT EXISTS (
                  SELECT FROM ledger_movement m
                  WHERE (m.cause_id, m.merchant_id) = (r.id, r.merchant_id)
                    AND m.kind = 'refund_paid'
              )
              AND NOT EXISTS (
                  SELECT FROM notices_notice n
                  WHERE n.reference = (SELECT acquirer_reference FROM intents_attempt t
                                       WHERE t.id = r.attempt_id)
                    AND n.refund_reference = r.acquirer_reference AND n.kind = 'refund_bounced'
              )
        """,
    ),
    "disputes are in the ledger": (
        "SELECT count(*) FROM disputes_dispute",
        f"""
        SELECT format('dispute %s of %s is %s with %s %s; the ledger has %s reserved and %s taken'
                      ' by the acquirer', d.id, d.intent_id, d.status, d.amount, d.currency,
                      coalesce(l.reserved, 0), coalesce(l.acquirer, 0))
        FROM disputes_dispute d
        LEFT JOIN ({OF_A_CAUSE}) l
            ON (l.cause_id, l.merchant_id, l.currency) = (d.id, d.merchant_id, d.currency)
        LEFT JOIN ({HELD_BACK}) h ON (h.cause_id, h.merchant_id) = (d.id, d.merchant_id)
        WHERE coalesce(l.reserved, 0) <>
                  CASE WHEN d.status IN ('needs_response', 'under_review')
                       THEN coalesce(h.held, -1) ELSE 0 END
           OR coalesce(l.acquirer, 0) <> CASE WHEN d.status = 'lost' THEN d.amount ELSE 0 END
        """,  # noqa: S608
    ),
    "movements back have their refund or dispute": (
        f"SELECT count(*) FROM ledger_movement WHERE kind IN {OF_REFUNDS}"  # noqa: S608
        f" OR kind IN {OF_DISPUTES}",
        f"""
        SELECT format('movement %s: %s of %s, and the merchant has no such object with that'
                      ' charge', m.id, m.kind, m.cause_id)
        FROM ledger_movement m
        LEFT JOIN refunds_refund r ON m.kind IN {OF_REFUNDS}
            AND (r.id, r.merchant_id, r.attempt_id) = (m.cause_id, m.merchant_id, m.charge_id)
        LEFT JOIN disputes_dispute d ON m.kind IN {OF_DISPUTES}
            AND (d.id, d.merchant_id, d.attempt_id) = (m.cause_id, m.merchant_id, m.charge_id)
        WHERE m.kind IN {OF_REFUNDS} AND r.id IS NULL
           OR m.kind IN {OF_DISPUTES} AND d.id IS NULL
        """,  # noqa: S608
    ),
    # Fees and surcharge of a charge are shared out among what goes back, and never overdrawn.
    "no charge gives back more than it took": (
        "SELECT count(*) FROM ledger_movement WHERE kind = 'charge'",
        """
        SELECT format('attempt %s gave back more than it took: %s', charge_id,
                      string_agg(kind || ' ' || total, ', '))
        FROM (
            SELECT m.merchant_id, m.charge_id, a.kind, sum(e.amount) AS total
            FROM ledger_movement m
            JOIN ledger_entry e ON e.movement_id = m.id
            JOIN ledger_account a ON a.id = e.account_id
            WHERE m.charge_id IS NOT NULL AND a.kind IN ('fees', 'surcharge', 'pending')
            GROUP BY m.merchant_id, m.charge_id, a.kind
        ) held
        WHERE total < 0 GROUP BY merchant_id, charge_id
        """,
    ),
    # The sums that hold at any time, by merchant and currency (contract-money, Bookkeeping).
    "accounts are what their objects say": (
        "SELECT count(DISTINCT (merchant_id, currency)) FROM ledger_account",
        f"""
        SELECT format('merchant %s: %s %s is %s, the objects make it %s', merchant_id, kind,
                      currency, booked, told)
        FROM (
            SELECT a.merchant_id, a.currency, a.kind, coalesce(sum(e.amount), 0) AS booked
            FROM ledger_account a LEFT JOIN ledger_entry e ON e.account_id = a.id
            WHERE a.kind IN ('acquirer', 'refunds', 'reserved', 'payouts')
            GROUP BY a.merchant_id, a.currency, a.kind
        ) ledger
        FULL JOIN (
            SELECT merchant_id, currency, kind, sum(amount) AS told FROM ({TOLD}) objects
            GROUP BY merchant_id, currency, kind
        ) objects USING (merchant_id, currency, kind)
        WHERE coalesce(booked, 0) <> coalesce(told, 0)
        """,  # noqa: S608
    ),
}
