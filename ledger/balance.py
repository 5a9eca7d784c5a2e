"""A merchant's balance: the sums of its ledger entries, in minor units per currency."""

from datetime import datetime
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Sum

from core import clock
from ledger.models import Account, Entry


class Merchant(Protocol):
    """The owner of a balance, of whom only these three fields are read."""

    id: str
    default_currency: str
    created_at: datetime


def shown(merchant: Merchant) -> dict[str, Any]:
    """Return the balance as the API shows it (contract 2).

    Every list has a row for the merchant's default currency, amounts in minor units.
    """
    sums = _sums(merchant.id)
    currencies = sorted({currency for currency, _kind in sums} | {merchant.default_currency})
    return {
        "id": f"bal_{merchant.id.removeprefix('mer_')}",
        "object": "balance",
        "available": _rows(sums, currencies, Account.Kind.AVAILABLE),
        "pending": _rows(sums, currencies, Account.Kind.PENDING),
        "reserved": _rows(sums, currencies, Account.Kind.RESERVED),
        "negative_limit": [{"amount": 0, "currency": merchant.default_currency}],
        "created": clock.unix(merchant.created_at),
        "livemode": settings.LIVEMODE,
    }


def _sums(merchant_id: str) -> dict[tuple[str, str], int]:
    rows = (
        Entry.objects.filter(merchant_id=merchant_id)
        .values_list("account__currency", "account__kind")
        .annotate(total=Sum("amount"))
    )
    return {(currency, kind): int(total) for currency, kind, total in rows}


def _rows(
    sums: dict[tuple[str, str], int], currencies: list[str], kind: str
) -> list[dict[str, Any]]:
    return [
        {"amount": sums.get((currency, kind), 0), "currency": currency} for currency in currencies
    ]
