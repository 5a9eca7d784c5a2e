"""Balance transactions: the movements that change what a merchant has (contract-money).

Each changes `pending` and `available` together by its `net`, so the sum of all of them is what both
hold, at any time.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
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
