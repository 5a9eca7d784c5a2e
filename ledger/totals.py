"""Sums of all that moved a merchant's balance in a currency, by type: for statements."""

from collections.abc import Iterable
from datetime import UTC, datetime, time
from typing import Any, NamedTuple

from django.db import connection

from ledger.models import Account
from ledger.models.accounts import account_id

Kind = Account.Kind
ACCOUNTS = (Kind.AVAILABLE, Kind.PENDING, Kind.RESERVED, Kind.FEES, Kind.SURCHARGE)

KEPT = """
SELECT edge.reached, days.*
FROM (SELECT coalesce((SELECT reached FROM ledger_boundary), 0) AS reached) AS edge
LEFT JOIN (
    SELECT type, sum(count), sum(fee), sum(surcharge), sum(available), sum(pending), sum(reserved)
    FROM ledger_daysum
    WHERE merchant_id = %(merchant)s AND currency = %(currency)s AND day < %(day)s
    GROUP BY type
) AS days ON true
"""
SUMS = """
       coalesce(sum(amount) FILTER (WHERE kind = 'fees'), 0),
       coalesce(sum(amount) FILTER (WHERE kind = 'surcharge'), 0),
       coalesce(sum(amount) FILTER (WHERE kind = 'available'), 0),
       coalesce(sum(amount) FILTER (WHERE kind = 'pending'), 0),
       coalesce(sum(amount) FILTER (WHERE kind = 'reserved'), 0)
"""
# The part of a day before an instant, of the entries in checkpoints. Each half has its index.
PART_OF_DAY = f"""
WITH made AS MATERIALIZED (
    SELECT id, type FROM ledger_movement
    WHERE merchant_id = %(merchant)s AND currency = %(currency)s AND type IS NOT NULL
        AND created_at >= %(midnight)s AND created_at < %(until)s
    UNION ALL
    SELECT id, '' FROM ledger_movement
    WHERE merchant_id = %(merchant)s AND currency = %(currency)s AND type IS NULL
        AND created_at >= %(midnight)s AND created_at < %(until)s
)
SELECT type, count(DISTINCT movement_id) FILTER (WHERE type <> ''), {SUMS}
FROM (
    SELECT made.type, entry.movement_id, entry.amount, split_part(entry.account_id, '.', 3) AS kind
    FROM made JOIN ledger_entry AS entry ON entry.movement_id = made.id
    WHERE entry.id <= %(reached)s
) AS entries GROUP BY type
"""  # noqa: S608
# A movement that the boundary divides is counted by the sums of its day.
BEHIND = f"""
SELECT type, count(DISTINCT movement_id) FILTER (WHERE type <> '' AND is_first), {SUMS}
FROM (
    SELECT coalesce(movement.type, '') AS type, entry.movement_id, entry.amount,
           split_part(entry.account_id, '.', 3) AS kind, (
               SELECT earlier.id FROM ledger_entry AS earlier
               WHERE earlier.movement_id = entry.movement_id AND earlier.id <= %(reached)s LIMIT 1
           ) IS NULL AS is_first
    FROM ledger_entry AS entry JOIN ledger_movement AS movement ON movement.id = entry.movement_id
    WHERE entry.merchant_id = %(merchant)s AND entry.account_id = ANY (%(accounts)s)
        AND entry.id > %(reached)s
) AS entries GROUP BY type
"""  # noqa: S608


class Sums(NamedTuple):
    """The sums of movements of one type, in minor units; changes of three accounts among them."""

    number: int = 0
    fee: int = 0
    surcharge: int = 0
    available: int = 0
    pending: int = 0
    reserved: int = 0

    @property
    def net(self) -> int:
        return self.available + self.pending

    @property
    def amount(self) -> int:
        return self.net + self.fee


class Totals(NamedTuple):
    """By type, empty for movements that are no balance transactions, all up to an instant.

    :param reached: the last entry in them; of `now` the last one in checkpoints.
    """

    by_type: dict[str, Sums]
    reached: int

    @property
    def all(self) -> Sums:
        return _sum(self.by_type.values())


def until(merchant_id: str, currency: str, instant: datetime) -> Totals:
    """Return the totals of movements before an instant, of the entries in checkpoints."""
    midnight = datetime.combine(instant.astimezone(UTC), time.min, UTC)
    pot = {"merchant": merchant_id, "currency": currency}
    kept = _rows(KEPT, pot | {"day": midnight.date()})
    reached: int = kept[0][0]
    part = {"midnight": midnight, "until": instant, "reached": reached}
    rest = _rows(PART_OF_DAY, pot | part) if instant > midnight else []
    return Totals(_added([*(row[1:] for row in kept), *rest]), reached)


def now(merchant_id: str, currency: str) -> Totals:
    """Return the totals of all movements; those behind the checkpoints may still get others."""
    pot = {"merchant": merchant_id, "currency": currency}
    kept = _rows(KEPT, pot | {"day": datetime.max.date()})
    reached: int = kept[0][0]
    accounts = [account_id(merchant_id, currency, kind) for kind in ACCOUNTS]
    behind = _rows(BEHIND, pot | {"accounts": accounts, "reached": reached})
    return Totals(_added([*(row[1:] for row in kept), *behind]), reached)


def _added(rows: Iterable[tuple[Any, ...]]) -> dict[str, Sums]:
    found: dict[str, Sums] = {}
    for kind, *sums in rows:
        if kind is not None:
            found[kind] = _sum([found.get(kind, Sums()), Sums(*map(int, sums))])
    return found


def _sum(several: Iterable[Sums]) -> Sums:
    return Sums(*(sum(column) for column in zip(Sums(), *several, strict=True)))


def _rows(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
