"""Attempts as their acquirer knows them."""

from dataclasses import replace

from acquirers.gateway import Order, Payer
from payments.intents.models import Attempt


def order_of(attempt: Attempt) -> Order:
    """Return the attempt's order: its terminal, our reference, its terms, the bank's numbers."""
    return Order(
        reference=attempt.acquirer_reference,
        terminal=attempt.terminal,
        merchant_id=attempt.merchant_id,
        amount=attempt.amount + attempt.surcharge,
        currency=attempt.currency,
        installments=attempt.installments,
        numbers=_numbers(attempt),
    )


def order_to_pay(attempt: Attempt) -> Order:
    """Return the attempt's order with its payer; `acquirers` adds their network address."""
    billing = attempt.intent.billing_details
    payer = Payer(
        name=billing.get("name"),
        email=billing.get("email"),
        address=billing.get("address") or {},
    )
    return replace(order_of(attempt), payer=payer)


def _numbers(attempt: Attempt) -> dict[str, str]:
    columns = ("authorization_code", "network_reference")
    told = {name: value for name in columns if (value := getattr(attempt, name))}
    return {**told, **(attempt.bank_numbers or {})}
