"""Sums of accounts: their checkpoints, and the entries behind them."""

from collections.abc import Iterable

from django.db import connection

from core import prepared

KEPT = """
SELECT account.id, account.currency, account.kind, kept.sum, kept.boundary
FROM ledger_account AS account LEFT JOIN ledger_checkpoint AS kept ON kept.account_id = account.id
WHERE account.merchant_id = %(merchant)s::text AND account.kind = ANY (%(kinds)s::text[])
    AND (%(currency)s::text IS NULL OR account.currency = %(currency)s::text)
"""
# Asked for each account with its own boundary as a constant: for one that it only comes to know
# while it runs, PostgreSQL expects a third of the account's entries, and might read the table.
BEHIND = """
SELECT %s, sum(amount) FROM ledger_entry
WHERE merchant_id = %s AND account_id = %s AND id > %s
"""

# By currency and kind of account the sum of its entries, in minor units.
Sums = dict[tuple[str, str], int]


def of_merchant(merchant_id: str, kinds: Iterable[str], *, currency: str | None = None) -> Sums:
    """Return the sums of a merchant's accounts of these kinds, of one currency or of all.

    Two statements, the checkpoints first: nothing can be committed below those any more, so that
    each entry counts once, whichever of them is moved on meanwhile.
    """
    values = {"merchant": merchant_id, "kinds": prepared.array(kinds), "currency": currency}
    kept = prepared.rows(KEPT, values)
    behind = _behind(merchant_id, {account: boundary or 0 for account, *_, boundary in kept})
    return {(code, kind): (total or 0) + behind[account] for account, code, kind, total, _ in kept}


def _behind(merchant_id: str, boundaries: dict[str, int]) -> dict[str, int]:
    """Return what the entries of each account behind its boundary sum to."""
    if not boundaries:
        return {}
    values = [
        value
        for account, boundary in boundaries.items()
        for value in (account, merchant_id, account, boundary)
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([BEHIND] * len(boundaries)), values)
        return {account: int(total or 0) for account, total in cursor.fetchall()}
