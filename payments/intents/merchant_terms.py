"""The terms of a merchant that are fixed once it has a payment (contract: Merchant changes)."""

from typing import Any

from django.conf import settings

from core.countries import is_country
from merchants import terms
from merchants.models import Merchant
from merchants.refusals import ChangeRefused
from payments.intents.models import PaymentIntent


def _require_no_payment(merchant: Merchant) -> None:
    # Stronger than the lock of the change: a payment that is being created refers to the row.
    Merchant.objects.select_for_update().only("id").get(id=merchant.id)
    if PaymentIntent.objects.for_merchant(merchant).exists():
        raise ChangeRefused("Country and currency cannot change once there is a payment.")


def _require_country(merchant: Merchant, code: Any) -> None:
    if not is_country(code):
        raise ChangeRefused("country: two capital letters, as ISO 3166 has them, or XK.")
    if code != merchant.country:
        _require_no_payment(merchant)


def _require_currency(merchant: Merchant, code: Any) -> None:
    if code not in settings.CURRENCIES:
        raise ChangeRefused(f"default_currency: one of {', '.join(settings.CURRENCIES)}.")
    if code != merchant.default_currency:
        _require_no_payment(merchant)


TERMS = (
    terms.column("country", _require_country),
    terms.column("default_currency", _require_currency),
)
