"""The parts that a run settles, summed by date: those of `parts.open_parts`, as far as it reaches.

In two halves that each read an index from the last run on. As one condition PostgreSQL may read all
days of the merchant for it: of a merchant it expects few entries, where there are many merchants.
"""

from datetime import date
from typing import NamedTuple

from django.db import connection

from ledger.models import Account, Run
from ledger.models.accounts import account_id

# `OFFSET 0` keeps PostgreSQL from looking for the late ones by their dates, which are all days.
FIND = """
WITH due AS (
    SELECT id, amount, available_on FROM ledger_entry
    WHERE merchant_id = %(merchant)s AND account_id = %(account)s
        AND available_on > coalesce(%(settled_on)s::date, '-infinity')
        AND available_on <= %(on)s
    UNION ALL
    SELECT id, amount, available_on FROM (
        SELECT id, amount, available_on, movement_id FROM ledger_entry
        WHERE merchant_id = %(merchant)s AND account_id = %(account)s AND id > %(boundary)s
            AND %(settled_on)s::date IS NOT NULL
        OFFSET 0
    ) AS late
    WHERE available_on <= %(settled_on)s::date AND (
        SELECT kind FROM ledger_movement WHERE ledger_movement.id = late.movement_id
    ) <> 'settlement'
)
SELECT available_on, sum(amount) FILTER (WHERE id <= %(edge)s),
    coalesce(bool_or(amount < 0) FILTER (WHERE id > %(edge)s), false)
FROM due GROUP BY available_on
"""


class Day(NamedTuple):
    """The parts of one date.

    :param amount: in minor units, of those up to the run's boundary; None if there are none.
    :param is_taken_from: something behind the boundary has taken from them.
    """

    date: date
    amount: int | None
    is_taken_from: bool


def find(merchant_id: str, currency: str, last: Run | None, *, on: date, edge: int) -> list[Day]:
    """Return what is due on a date or before it, and not settled; the caller holds the account.

    :param last: the last run of the currency; None before the first.
    :param edge: the boundary of the run.
    """
    values = {
        "merchant": merchant_id,
        "account": account_id(merchant_id, currency, Account.Kind.PENDING),
        "settled_on": last.date if last else None,
        "boundary": last.boundary if last else 0,
        "on": on,
        "edge": edge,
    }
    with connection.cursor() as cursor:
        cursor.execute(FIND, values)
        return [
            Day(day, None if amount is None else int(amount), is_taken)
            for day, amount, is_taken in cursor.fetchall()
        ]
