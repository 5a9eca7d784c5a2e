"""Installments of a payment: the count that it may have, and the surcharge that it costs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from merchants.models import Merchant
from payments.installments import plans
from payments.intents.models import PaymentIntent
from payments.intents.refusals import InstallmentsNotAvailable, SurchargeMismatch

Card = Mapping[str, Any]


class ChosenPlan(NamedTuple):
    """A count of installments and its price; the surcharge in minor units.

    :param program: the card's, None if it has none.
    """

    installments: int
    surcharge: int
    surcharge_rate_bps: int = 0
    program: str | None = None


class Wish(NamedTuple):
    """The part of a request that is about installments.

    :param installments: the count, None for the payment's own.
    :param surcharge: in minor units, what the merchant expects it to cost; None: it says nothing.
    """

    installments: int | None = None
    surcharge: int | None = None


def wish_of(body: Mapping[str, Any]) -> Wish:
    """Return what the validated body of a create or a confirm says."""
    return Wish(body.get("installments"), body.get("surcharge"))


def plan_of(intent: PaymentIntent, card: Card, count: int) -> ChosenPlan:
    """Return the plan of an attempt with the card and a count of installments.

    The one place that says so: tests put other plans here.

    :param intent: locked, or not stored yet.
    :raises InstallmentsNotAvailable: the merchant's plans do not offer it to this card.
    """
    return _plan(intent.merchant, card, count, amount=intent.amount, currency=intent.currency)


def agreed(intent: PaymentIntent, card: Card, wish: Wish) -> ChosenPlan:
    """Return the plan of the payment's next attempt.

    :raises InstallmentsNotAvailable: as `plan_of` does.
    :raises SurchargeMismatch: it costs something else than the merchant says.
    """
    plan = plan_of(intent, card, wish.installments or intent.installments)
    require_surcharge(wish, plan.surcharge)
    return plan


def check(merchant: Merchant, card: Card | None, wish: Wish, *, amount: int, currency: str) -> None:
    """Refuse a count that the payment could not be confirmed with, before anything is stored.

    Without a card it is enough that some card may pay so, and the surcharge is still 0.

    :raises InstallmentsNotAvailable: no plan of the merchant's offers it.
    :raises SurchargeMismatch: it costs something else than the merchant says.
    """
    count = wish.installments or 1
    if card:
        plan = _plan(merchant, card, count, amount=amount, currency=currency)
        require_surcharge(wish, plan.surcharge)
        return
    if not plans.is_listed(merchant, count, currency=currency):
        raise InstallmentsNotAvailable
    require_surcharge(wish, 0)


def require_surcharge(wish: Wish, surcharge: int) -> None:
    """:raises SurchargeMismatch: the merchant has said another one."""
    if wish.surcharge not in (None, surcharge):
        raise SurchargeMismatch


def _plan(merchant: Merchant, card: Card, count: int, *, amount: int, currency: str) -> ChosenPlan:
    option = plans.option(merchant, card, count, amount=amount, currency=currency)
    if option is None:
        raise InstallmentsNotAvailable
    return ChosenPlan(count, option.surcharge, option.surcharge_rate_bps, option.program)
