"""Rows that requests left behind, to be compared with the answers that the clients got."""

from collections.abc import Collection

import psycopg

KEYS = "SELECT count(*) FROM merchants_idempotencykey WHERE key = ANY(%s)"
PAYMENTS = """
    SELECT id FROM intents_paymentintent
    WHERE merchant_id = %s AND created_at >= to_timestamp(%s)
"""
# When the payment of a request was begun; a key without a payment has none.
BEGUN = """
    SELECT claim.key, extract(epoch FROM intent.created_at)::float8
    FROM merchants_idempotencykey claim
    JOIN intents_paymentintent intent ON intent.id = claim.object_id
    WHERE claim.key = ANY(%s)
"""


def count_keys(url: str, keys: Collection[str]) -> int:
    """Count the requests that left something behind: none does without its key."""
    with psycopg.connect(url) as connection:
        [count] = connection.execute(KEYS, [list(keys)]).fetchone() or [0]
    return count


def begun_since(url: str, merchant_id: str, since: float) -> set[str]:
    """Return the ids of the merchant's payments that were begun since (unix time)."""
    with psycopg.connect(url) as connection:
        return {found for (found,) in connection.execute(PAYMENTS, [merchant_id, since])}


def begun_at(url: str, keys: Collection[str]) -> dict[str, float]:
    """Return when the payments of these requests were begun (unix time), by key."""
    with psycopg.connect(url) as connection:
        return dict(connection.execute(BEGUN, [list(keys)]).fetchall())
