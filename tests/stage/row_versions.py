"""The versions of a payment's rows: whoever writes one of them, in whatever column, is seen."""

from django.db import connection


def versions_of(payment_id: str) -> list[tuple[str, str]]:
    """Return the ids of a payment's rows, its refunds' too, with the transactions that wrote them.

    One that has begun and did not commit is not seen.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, {"payment": payment_id})
        return cursor.fetchall()


_VERSIONS = """
    WITH attempts AS (SELECT id, xmin FROM intents_attempt WHERE intent_id = %(payment)s)
    SELECT id, xmin::text FROM intents_paymentintent WHERE id = %(payment)s
    UNION ALL SELECT id, xmin::text FROM attempts
    UNION ALL SELECT id, xmin::text FROM intents_modification
        WHERE attempt_id IN (SELECT id FROM attempts)
    UNION ALL SELECT id, xmin::text FROM refunds_refund WHERE intent_id = %(payment)s
    ORDER BY 1
"""
