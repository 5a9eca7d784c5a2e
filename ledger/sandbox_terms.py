"""The terms of a merchant in a sandbox (contract-money, To 11 and 13)."""

from django.conf import settings

from core import clock
from ledger.models import Price
from merchants.models import Merchant, NegativeLimit, PayoutAccount

BPS, FIXED = 250, 25
# Of no bank: the test bank knows accounts by their references alone.
IBAN = "TR330006100519786457841326"
NEGATIVE_LIMIT = 100_000


def give(merchant: Merchant) -> None:
    """Give a new merchant a price, a limit below zero and a payout account; in a sandbox alone.

    A live merchant's charges are free until an operator has written its prices down.
    """
    if settings.LIVEMODE:
        return
    currency = merchant.default_currency
    Price.objects.create(merchant=merchant, currency=currency, bps=BPS, fixed=FIXED)
    NegativeLimit.objects.create(merchant=merchant, currency=currency, amount=NEGATIVE_LIMIT)
    PayoutAccount.objects.create(
        merchant=merchant,
        reference="main",
        holder_name=merchant.name,
        iban=IBAN,
        is_default=True,
        created_at=clock.now(),
    )
