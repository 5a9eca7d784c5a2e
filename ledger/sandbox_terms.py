"""The terms of a merchant in a sandbox (contract-money, To 11 and 13)."""

from django.conf import settings

from ledger.models import Price
from merchants.models import Merchant, NegativeLimit

BPS, FIXED = 250, 25
NEGATIVE_LIMIT = 100_000


def give(merchant: Merchant) -> None:
    """Give a new merchant a price and a limit below zero; nothing in a live installation.

    There a merchant's charges are free until an operator has written its prices down.
    """
    if settings.LIVEMODE:
        return
    currency = merchant.default_currency
    Price.objects.create(merchant=merchant, currency=currency, bps=BPS, fixed=FIXED)
    NegativeLimit.objects.create(merchant=merchant, currency=currency, amount=NEGATIVE_LIMIT)
