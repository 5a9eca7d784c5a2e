"""The installments that a card may be charged in, and their cost (contract 10, contract-terms)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import Q

from acquirers import routing
from acquirers.routing import Payment
from core import money
from merchants.models import InstallmentPlan, Merchant

BASE = 10_000  # Basis points in the whole.
CURRENCY = "try"


class Option(NamedTuple):
    """One way to pay an amount; all money in minor units.

    :param surcharge: the cardholder pays it on top of the amount.
    :param program: the card's, None if it has none.
    """

    installments: int
    amount: int
    surcharge_rate_bps: int = 0
    program: str | None = None

    @property
    def surcharge(self) -> int:
        """Return the amount's part, rounded half up."""
        return (self.amount * self.surcharge_rate_bps + BASE // 2) // BASE

    @property
    def whole(self) -> int:
        return self.amount + self.surcharge

    @property
    def parts(self) -> tuple[int, int]:
        """Return the first installment, which has what is left over, and each of the others."""
        return money.split(self.whole, self.installments)


def options(
    merchant: Merchant, card: Mapping[str, Any], *, amount: int, currency: str
) -> list[Option]:
    """Return every way to pay an amount with a card, at once first, then by count.

    A count that no terminal of the merchant's routes takes is not among them.

    :param card: its facts, as they are frozen with a payment.
    :param amount: minor units, without surcharge.
    """
    program, routes = card["program"], routing.routes_of(merchant)
    plans = _plans_for(merchant, card) if currency == CURRENCY else []
    offered = [
        Option(plan.installments, amount, plan.surcharge_rate_bps, program)
        for plan in plans
        if amount >= plan.minimum_amount
    ]
    at_once = Option(1, amount, program=program)
    priced = [at_once, *(option for option in offered if min(option.parts) >= 1)]
    return [one for one in priced if routes.take(Payment(currency, card, one.installments))]


def option(
    merchant: Merchant, card: Mapping[str, Any], count: int, *, amount: int, currency: str
) -> Option | None:
    """Return the way to pay in that many installments; None if it is not offered.

    At once costs no statement.
    """
    if count == 1:
        return Option(1, amount, program=card["program"])
    offered = options(merchant, card, amount=amount, currency=currency)
    return next((one for one in offered if one.installments == count), None)


def is_listed(merchant: Merchant, count: int, *, currency: str) -> bool:
    """Return whether some card may pay in that many installments."""
    plans = InstallmentPlan.objects.for_merchant(merchant)
    return count == 1 or (currency == CURRENCY and plans.filter(installments=count).exists())


def _plans_for(merchant: Merchant, card: Mapping[str, Any]) -> list[InstallmentPlan]:
    """Return the rows of the card's programme; without one of its own, those for all others."""
    if not card["domestic"] or card["card_type"] != "credit":
        return []
    program = card["program"]
    rows = InstallmentPlan.objects.for_merchant(merchant).order_by("installments")
    found = list(rows.filter(Q(program=None) | Q(program=program)))
    own = [plan for plan in found if plan.program == program]
    return own or [plan for plan in found if plan.program is None]
