"""Checks within the database: each has a query that counts and one that must return no rows."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.db import connection

from audit import checkouts, money_back, payouts, topups
from audit.findings import Findings

# A charge's amount is what the acquirer owes us for it: surcharge and fee are in it.
CHARGES = """
    SELECT m.merchant_id, m.cause_id, -sum(e.amount) AS amount, m.currency, m.fee
    FROM ledger_movement m
    JOIN ledger_entry e ON e.movement_id = m.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'acquirer'
    WHERE m.kind = 'charge' GROUP BY m.id
"""
# name: (query that counts the rows looked at, query that returns a sentence per difference)
QUERIES = {
    "movements sum to zero": (
        "SELECT count(*) FROM ledger_movement",
        """
        SELECT format('movement %s of %s sums to %s %s', m.id, m.cause_id,
                      coalesce(sum(e.amount), 0), coalesce(e.currency, '(no entries)'))
        FROM ledger_movement m LEFT JOIN ledger_entry e ON e.movement_id = m.id
        GROUP BY m.id, m.cause_id, e.currency
        HAVING sum(e.amount) IS DISTINCT FROM 0
           -- Of a disputed kurus the surcharge's share may be all: it moves once it is lost.
           AND NOT (count(e.id) = 0 AND m.surcharge <> 0
                    AND m.kind IN ('dispute_opened', 'dispute_won'))
        """,
    ),
    "charged attempts are in the ledger": (
        "SELECT count(*) FROM intents_attempt WHERE status = 'succeeded'",
        f"""
        SELECT format('attempt %s of %s charged %s %s for a fee of %s, the ledger has %s %s for %s',
                      t.id, t.intent_id, t.captured_minor, t.currency, t.fee,
                      coalesce(c.amount, 0), c.currency, c.fee)
        FROM intents_attempt t
        LEFT JOIN ({CHARGES}) c ON (c.cause_id, c.merchant_id) = (t.id, t.merchant_id)
        WHERE t.status = 'succeeded'
          AND (c.amount, c.currency::text, c.fee)
              IS DISTINCT FROM (t.captured_minor, t.currency::text, t.fee)
        """,  # noqa: S608
    ),
    "charges in the ledger have their attempt": (
        "SELECT count(*) FROM ledger_movement WHERE kind = 'charge'",
        """
        SELECT format('movement %s charges for %s, which charged nothing', m.id, m.cause_id)
        FROM ledger_movement m
        LEFT JOIN intents_attempt t
            ON (t.id, t.merchant_id) = (m.cause_id, m.merchant_id) AND t.status = 'succeeded'
        WHERE m.kind = 'charge' AND t.id IS NULL
        """,
    ),
    "payments show what their attempts did": (
        "SELECT count(*) FROM intents_paymentintent",
        """
        SELECT format('payment %s is %s with %s authorised, %s captured (surcharge: %s) and %s'
                      ' capturable; its attempts %s, %s (%s) and %s', p.id, p.status,
                      p.authorized_minor, p.captured_minor, p.captured_surcharge,
                      p.amount_capturable, coalesce(t.authorized, 0), coalesce(t.captured, 0),
                      coalesce(t.captured_surcharge, 0), coalesce(t.capturable, 0))
        FROM intents_paymentintent p
        LEFT JOIN (
            SELECT intent_id,
                   sum(captured_minor) AS captured,
                   sum(least(surcharge, captured_minor)) AS captured_surcharge,
                   sum(amount + surcharge) FILTER (WHERE status = 'authorized') AS capturable,
                   sum(amount + surcharge)
                       FILTER (WHERE status IN ('authorized', 'succeeded')) AS authorized
            FROM intents_attempt GROUP BY intent_id
        ) t ON t.intent_id = p.id
        WHERE (p.captured_minor, p.amount_capturable)
              IS DISTINCT FROM (coalesce(t.captured, 0), coalesce(t.capturable, 0))
           OR p.captured_surcharge <> coalesce(t.captured_surcharge, 0)
           OR p.authorized_minor <> coalesce(t.authorized, 0)
           OR (p.status = 'succeeded') <> (p.captured_minor > 0)
           OR (p.status = 'requires_capture') <> (p.amount_capturable > 0)
              AND p.status <> 'processing'
        """,
    ),
    "payments in processing wait for the bank": (
        "SELECT count(*) FROM intents_paymentintent WHERE status = 'processing'",
        """
        SELECT format('payment %s is processing, and none of its attempts is', p.id)
        FROM intents_paymentintent p
        WHERE p.status = 'processing' AND NOT EXISTS (
            SELECT FROM intents_attempt t
            WHERE t.intent_id = p.id AND (t.status = 'processing' OR EXISTS (
                SELECT FROM intents_modification m
                WHERE m.attempt_id = t.id AND m.status = 'processing'
                  AND m.kind IN ('capture', 'void', 'fallback')
            ))
        )
        """,
    ),
    "attempts show the card that they send": (
        "SELECT count(*) FROM intents_attempt",
        """
        SELECT format('attempt %s of %s shows card %s…%s and sends %s…%s', t.id, t.intent_id,
                      t.card ->> 'bin', t.card ->> 'last4', c.bin, c.last4)
        FROM intents_attempt t LEFT JOIN vault_sealedcard c ON c.token = t.sealed_card_id
        WHERE (c.bin, c.last4) IS DISTINCT FROM (t.card ->> 'bin', t.card ->> 'last4')
        """,
    ),
    # A limit per day without 3-D Secure reads the counted sum, and no attempt.
    "days without 3-D Secure count their attempts": (
        "SELECT count(*) FROM intents_nonsecureday",
        """
        SELECT format('the day %s of %s has counted %s %s without 3-D Secure, its attempts %s',
                      d.day, d.merchant_id, d.taken, d.currency,
                      d.uncounted + coalesce(sum(t.amount + t.surcharge), 0))
        FROM intents_nonsecureday d
        LEFT JOIN intents_attempt t
            ON (t.merchant_id, t.currency, t.non_secure_day) = (d.merchant_id, d.currency, d.day)
            AND t.status NOT IN ('failed', 'abandoned', 'canceled')
        GROUP BY d.merchant_id, d.currency
        HAVING d.taken <> d.uncounted + coalesce(sum(t.amount + t.surcharge), 0)
        """,
    ),
    "payments have their events": (
        "SELECT count(*) FROM intents_paymentintent",
        """
        SELECT format('payment %s is %s, its last event says %s', p.id, p.status,
                      coalesce(e.status, 'nothing: it never had one'))
        FROM intents_paymentintent p
        LEFT JOIN events_counter c
            ON (c.aggregate_id, c.merchant_id) = (p.id, p.merchant_id)
        LEFT JOIN LATERAL (
            SELECT convert_from(body, 'UTF8')::jsonb #>> '{data,object,status}' AS status
            FROM events_event WHERE (aggregate_id, merchant_id) = (p.id, p.merchant_id)
            ORDER BY sequence DESC LIMIT 1
        ) e ON true
        WHERE c.aggregate_id IS NULL OR e.status <> p.status
        """,
    ),
    # Lists filter by the entries, and payments show their own metadata.
    "metadata is found as it is shown": (
        "SELECT count(*) FROM intents_metadataentry",
        """
        SELECT format('payment %s: its metadata key %s %s', id, key,
                      CASE WHEN e.value IS NULL THEN 'is not found by lists'
                           WHEN shown.value IS NULL THEN 'is found by lists and not shown'
                           ELSE 'is found by lists with another value, merchant or time' END)
        FROM (
            SELECT p.id, key, value, p.merchant_id, p.created_at
            FROM intents_paymentintent p, jsonb_each_text(p.metadata)
        ) shown
        FULL JOIN (
            SELECT intent_id AS id, key::text AS key, value, merchant_id, created_at
            FROM intents_metadataentry
        ) e USING (id, key)
        WHERE (e.value, e.merchant_id, e.created_at)
            IS DISTINCT FROM (shown.value, shown.merchant_id, shown.created_at)
        """,
    ),
}


def look(name: str, count: str, query: str, **values: datetime) -> Findings:
    """Count the rows to look at; each row of `query` is the sentence of one difference.

    :param values: of the placeholders in `query`; without any value, a % in it is just a %.
    """
    with connection.cursor() as cursor:
        cursor.execute(count)
        [looked_at] = cursor.fetchone()
        cursor.execute(query, values or None)
        return Findings(name, looked_at, [sentence for (sentence,) in cursor.fetchall()])


CHECKS: list[Callable[[], Findings]] = [
    partial(look, name, count, query)
    for name, (count, query) in (
        QUERIES | money_back.QUERIES | payouts.QUERIES | topups.QUERIES | checkouts.QUERIES
    ).items()
]
