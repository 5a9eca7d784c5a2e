"""Balance transactions: the movements that change what a merchant has (contract-money).

Each changes `pending` and `available` together by its `net`, so the sum of all of them is what both
hold, at any time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef

from core import clock, local_days
from core.querysets import MerchantRows
from ledger.models import LedgerEntry, Movement, Run
from ledger.models.movements import IS_TRANSACTION
from merchants.models import Merchant

# A part is settled once a run has reached both its date and its entry.
_HAS_REACHED = Run.objects.filter(
    merchant=OuterRef("merchant"),
    currency=OuterRef("currency"),
    date__gte=OuterRef("available_on"),
    boundary__gte=OuterRef("pk"),
)
# Of each movement its newest entry, whether it had pending parts, and the run that has reached the
# last of them.
PLACES = """
SELECT movement_id, newest, last_date IS NOT NULL, (
    SELECT run.id FROM ledger_run AS run
    WHERE run.merchant_id = parts.merchant_id AND run.currency = parts.currency
        AND run.date >= parts.last_date AND run.boundary >= parts.last_part
    ORDER BY run.date LIMIT 1
)
FROM (
    SELECT movement_id, merchant_id, currency, max(id) AS newest, max(available_on) AS last_date,
           max(id) FILTER (WHERE available_on IS NOT NULL) AS last_part
    FROM ledger_entry WHERE movement_id = ANY (%s) GROUP BY movement_id, merchant_id, currency
) AS parts
"""
# The run that has reached a part first has settled it.
SETTLED_PARTS = """
SELECT DISTINCT (
    SELECT run.id FROM ledger_run AS run
    WHERE run.merchant_id = part.merchant_id AND run.currency = part.currency
        AND run.date >= part.available_on AND run.boundary >= part.id
    ORDER BY run.date LIMIT 1
)
FROM ledger_entry AS part WHERE part.movement_id = ANY (%s) AND part.available_on IS NOT NULL
"""


# Of each movement the runs that have settled its parts, the first one first.
SETTLED = """
SELECT part.movement_id, run.id
FROM ledger_entry AS part CROSS JOIN LATERAL (
    SELECT id, date FROM ledger_run
    WHERE merchant_id = part.merchant_id AND currency = part.currency
        AND date >= part.available_on AND boundary >= part.id
    ORDER BY date LIMIT 1
) AS run
WHERE part.movement_id = ANY (%s) AND part.available_on IS NOT NULL
GROUP BY part.movement_id, run.id, run.date ORDER BY run.date
"""


class PlaceInLedger(NamedTuple):
    """The newest entry of a movement, and where its pending parts went.

    :param settlement: the run that settled the last of them; None if it had none, or is not over.
    """

    newest_entry: int
    is_pending: bool
    settlement: str | None


def of_merchant(merchant: Merchant) -> MerchantRows:
    """Return the merchant's movements that are balance transactions."""
    return Movement.objects.for_merchant(merchant).filter(IS_TRANSACTION)


def shown(movements: Iterable[Movement], merchant: Merchant) -> list[dict[str, Any]]:
    """Return a merchant's movements as the API shows them, in one query for all of them."""
    movements = list(movements)
    pending = _pending_among(movements)
    return [
        _transaction(movement, merchant.timezone, is_pending=movement.id in pending)
        for movement in movements
    ]


def places(movements: Iterable[Movement]) -> dict[str, PlaceInLedger]:
    """Return, by the movements' ids, which entries they have and which runs settled them."""
    with connection.cursor() as cursor:
        cursor.execute(PLACES, [[movement.id for movement in movements]])
        found = cursor.fetchall()
    return {
        movement_id: PlaceInLedger(newest, had_parts and run is None, run)
        for movement_id, newest, had_parts, run in found
    }


def settlements(movements: Iterable[Movement]) -> dict[str, list[str]]:
    """Return, by the movements' ids, the runs that have settled parts of them, in their order."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(SETTLED, [[movement.id for movement in movements]])
        for movement_id, run in cursor.fetchall():
            found.setdefault(movement_id, []).append(run)
    return found


def _pending_among(movements: list[Movement]) -> set[str]:
    parts = LedgerEntry.objects.filter(movement__in=movements, available_on__isnull=False)
    return set(parts.filter(~Exists(_HAS_REACHED)).values_list("movement_id", flat=True))


def _transaction(movement: Movement, timezone: str, *, is_pending: bool) -> dict[str, Any]:
    assert movement.available_on is not None  # As every change of a balance has.
    return {
        "id": movement.id,
        "object": "balance_transaction",
        "amount": movement.amount,
        "fee": movement.fee,
        "net": movement.net,
        "currency": movement.currency,
        "type": movement.type,
        "source": movement.source_id,
        "description": None,  # No movement has one so far.
        "available_on": clock.unix(local_days.begins(movement.available_on, timezone)),
        "status": "pending" if is_pending else "available",
        "created": clock.unix(movement.created_at),
        "livemode": settings.LIVEMODE,
    }


def of_charges(merchant: Merchant, charge_ids: Iterable[str]) -> MerchantRows:
    """Return what charges brought and what went back of them, the first movement first."""
    rows = of_merchant(merchant).filter(charge_id__in=list(charge_ids))
    return rows.order_by("created_at", "id")


def settlements_of(movements: Iterable[Movement]) -> list[Run]:
    """Return the runs that settled parts of a charge's movements, the first one first."""
    with connection.cursor() as cursor:
        cursor.execute(SETTLED_PARTS, [[movement.id for movement in movements]])
        found = [run for (run,) in cursor.fetchall() if run]
    return list(Run.objects.filter(id__in=found).order_by("date")) if found else []
