"""The money that a payout was made of: all that changed `available` since an earlier payout."""

from typing import NamedTuple

from django.db import connection

from ledger.models import Account, Movement
from ledger.models.accounts import account_id

# A cause has one movement of this kind, and that one line of `available`.
LINE = """
SELECT entry.id, entry.amount
FROM ledger_movement AS movement JOIN ledger_entry AS entry ON entry.movement_id = movement.id
WHERE movement.merchant_id = %s AND movement.cause_id = %s AND movement.kind = %s
    AND entry.account_id = %s
"""
BEFORE = """
SELECT coalesce(sum(amount), 0) FROM ledger_entry
WHERE merchant_id = %s AND account_id = %s AND id <= %s
"""
# Settlements have no type: they move what is pending to what is available.
BETWEEN = """
SELECT coalesce(movement.type, movement.kind) AS reason, sum(entry.amount)
FROM ledger_entry AS entry JOIN ledger_movement AS movement ON movement.id = entry.movement_id
WHERE entry.merchant_id = %s AND entry.account_id = %s AND entry.id > %s AND entry.id < %s
GROUP BY reason HAVING sum(entry.amount) <> 0 ORDER BY reason
"""


class MadeOf(NamedTuple):
    """The lines that sum to a payout, in minor units.

    :param left: `available` after the payout before, 0 if there was none.
    :param changes: by type of balance transaction, or `settlement`.
    :param stayed: `available` after this one.
    """

    left: int
    changes: dict[str, int]
    amount: int
    stayed: int


def made_of(merchant_id: str, currency: str, payout_id: str, before: str | None) -> MadeOf:
    """Return what a payout was made of, in the order in which the ledger has it.

    :param before: the payout from which on changes are counted; None from the beginning.
    """
    pot = account_id(merchant_id, currency, Account.Kind.AVAILABLE)
    end, taken = _line(merchant_id, payout_id, pot)
    begin = _line(merchant_id, before, pot)[0] if before else 0
    with connection.cursor() as cursor:
        cursor.execute(BEFORE, [merchant_id, pot, begin])
        left = int(cursor.fetchone()[0])
        cursor.execute(BETWEEN, [merchant_id, pot, begin, end])
        changes = {reason: int(amount) for reason, amount in cursor.fetchall()}
    return MadeOf(left, changes, -taken, left + sum(changes.values()) + taken)


def _line(merchant_id: str, payout_id: str, pot: str) -> tuple[int, int]:
    """Return the id and the amount of a payout's line of `available`."""
    with connection.cursor() as cursor:
        cursor.execute(LINE, [merchant_id, payout_id, Movement.Kind.PAYOUT, pot])
        ((entry_id, amount),) = cursor.fetchall()
    return entry_id, amount
