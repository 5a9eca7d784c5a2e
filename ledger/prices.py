"""The prices of a merchant's charges, replaced together (contract-money: fees).

A charge takes its fee by the prices of its capture, and keeps it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import F

from ledger.models import Price
from merchants.models import Merchant
from merchants.terms import AMOUNT_MAX

NAMES = ("currency", "card_type", "installments", "bps", "fixed", "returns_fee")
# Python takes True for 1; the API's amounts do not.
NUMBERS = ("installments", "bps", "fixed")
INSTALLMENTS_MAX = 12


def shown(merchant: Merchant) -> list[dict[str, Any]]:
    """Return the prices, by currency, those for all sales first."""
    rows = Price.objects.for_merchant(merchant).order_by(
        "currency", F("card_type").asc(nulls_first=True), F("installments").asc(nulls_first=True)
    )
    return [dict(row) for row in rows.values(*NAMES)]


def replace(merchant: Merchant, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make these rows all prices of the merchant, whom the caller has locked.

    :raises TypeError: a name that a price does not have, or no number where one belongs.
    :raises ValidationError: a price that the contract does not know, or two for the same sales.
    """
    prices = [_price(row) for row in rows]
    Price.objects.for_merchant(merchant).delete()
    for price in prices:
        price.merchant = merchant
        price.full_clean()
        price.save(force_insert=True)


def _price(row: Mapping[str, Any]) -> Price:
    for name, value in row.items():
        is_number = value is None or type(value) is int
        if name not in NAMES or (name in NUMBERS and not is_number):
            raise TypeError(name)
    price = Price(**row)
    if price.currency not in settings.CURRENCIES:
        raise ValidationError(f"A currency is one of: {', '.join(settings.CURRENCIES)}.")
    if not 1 <= (price.installments or 1) <= INSTALLMENTS_MAX:
        raise ValidationError(f"A price is for 1 to {INSTALLMENTS_MAX} installments, or for all.")
    if not 0 <= (price.fixed or 0) <= AMOUNT_MAX:
        raise ValidationError(f"A fixed amount is from 0 to {AMOUNT_MAX}, in minor units.")
    return price
