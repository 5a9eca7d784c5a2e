"""Installments of a payment: their count, and the surcharge that the cardholder pays for them."""

from typing import Any, NamedTuple

from payments.intents.models import PaymentIntent


class Plan(NamedTuple):
    """A count of installments, and their surcharge in minor units."""

    installments: int
    surcharge: int


def plan_of(intent: PaymentIntent, card: dict[str, Any]) -> Plan:
    """Return the plan by which an attempt with the card pays: at once, until others are for sale.

    The one place that says so: tests put other plans here.
    """
    return Plan(intent.installments, surcharge=0)
