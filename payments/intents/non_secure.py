"""Limits of the money that a merchant may take without 3-D Secure (contract 10)."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import F, Sum

from core import clock, rows
from core.errors import DomainError
from merchants.models import Merchant, NonSecureLimit
from payments.intents.models import Attempt
from payments.intents.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT

LIMIT = "merchant_id = %(merchant)s::text AND currency = %(currency)s::text"


class NonSecureNotAllowed(DomainError):
    code = "non_secure_not_allowed"
    message = "The account may not take this payment without 3-D Secure."
    param = "payment_method_options[card][three_d_secure]"


def is_allowed(merchant: Merchant, *, amount: int, currency: str) -> bool:
    """Tell whether a payment fits the merchant's limits, in the transaction that opens it.

    A limit per day is locked, so that of two payments at once only one gets the rest of the limit.

    :param amount: minor units, surcharge included.
    """
    if not merchant.non_secure_allowed:
        return False
    limit = rows.find(NonSecureLimit, LIMIT, merchant=merchant.id, currency=currency)
    if limit is not None and limit.per_day is not None:
        limit = rows.lock(NonSecureLimit, LIMIT, merchant=merchant.id, currency=currency)
    if limit is None or (limit.per_payment is not None and amount > limit.per_payment):
        return False
    return limit.per_day is None or _taken_today(merchant, currency) + amount <= limit.per_day


def _taken_today(merchant: Merchant, currency: str) -> int:
    today = Attempt.objects.for_merchant(merchant).filter(
        created_at__gte=_midnight(merchant),
        currency=currency,
        authentication_demanded=False,
        status__in=(*OPEN_ATTEMPT, *SUCCESSFUL_ATTEMPT),
    )
    return today.aggregate(total=Sum(F("amount") + F("surcharge")))["total"] or 0


def _midnight(merchant: Merchant) -> datetime:
    here = clock.now().astimezone(ZoneInfo(merchant.timezone))
    return here.replace(hour=0, minute=0, second=0, microsecond=0)
