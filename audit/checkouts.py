"""Checks of checkout sessions against their payments.

Rows of `(name, query that counts, query of sentences)`, as in `audit.queries`.
"""

QUERIES = {
    "open checkout sessions wait for their payment": (
        "SELECT count(*) FROM checkout_checkoutsession WHERE status = 'open'",
        """
        SELECT format('session %s is open, and its payment %s is %s and follows session %s',
                      s.id, p.id, p.status, coalesce(p.checkout_session, '-'))
        FROM checkout_checkoutsession s
        JOIN intents_paymentintent p ON (p.id, p.merchant_id) = (s.intent_id, s.merchant_id)
        WHERE s.status = 'open'
          AND (p.status IN ('requires_capture', 'succeeded', 'canceled')
               OR p.checkout_session IS DISTINCT FROM s.id)
        """,
    ),
    "complete checkout sessions have had their payment": (
        "SELECT count(*) FROM checkout_checkoutsession WHERE status = 'complete'",
        """
        SELECT format('session %s is complete, and its payment %s was never authorised',
                      s.id, s.intent_id)
        FROM checkout_checkoutsession s
        WHERE s.status = 'complete'
          AND NOT EXISTS (
              SELECT FROM intents_attempt a
              WHERE (a.intent_id, a.merchant_id) = (s.intent_id, s.merchant_id)
                AND (a.status IN ('authorized', 'succeeded')
                     -- Released since, or its capture was refused.
                     OR EXISTS (SELECT FROM intents_modification m WHERE m.attempt_id = a.id))
          )
        """,
    ),
}
