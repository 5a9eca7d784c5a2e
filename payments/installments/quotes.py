"""Quotes: the ways in which a card may pay an amount, shown before it is charged."""

from typing import Any

from django.conf import settings

import acquirers
from acquirers import routing
from merchants.models import Merchant
from payments.installments import bins, plans
from payments.installments.plans import Option

CARD_FIELDS = ("brand", "card_type", "domestic", "commercial", "issuer", "program")


def quote(merchant: Merchant, *, bin: str, amount: int, currency: str) -> dict[str, Any]:  # noqa: A002
    """Return the quote as the API shows it; nothing is stored.

    :param bin: the first 6 to 8 digits of the card's number.
    :param amount: minor units, without surcharge.
    :raises UpstreamUnavailable: there is no acquirer.
    """
    routing.routes_of(merchant).require_open(currency)
    card = bins.frozen(bins.facts_of(bin, built_in=acquirers.built_in_bins()), merchant)
    offered = plans.options(merchant, card, amount=amount, currency=currency)
    return {
        "object": "installment_quote",
        "bin": bin,
        "amount": amount,
        "currency": currency,
        "card": {name: card[name] for name in CARD_FIELDS},
        "three_d_secure_required": bins.demand_authentication(card),
        "options": [_shown(option) for option in offered],
        "livemode": settings.LIVEMODE,
    }


def _shown(option: Option) -> dict[str, Any]:
    first_part, part = option.parts
    return {
        "installments": option.installments,
        "amount_charged": option.whole,
        "surcharge": option.surcharge,
        "surcharge_rate_bps": option.surcharge_rate_bps,
        "installment_amount": part,
        "first_installment_amount": first_part,
    }
