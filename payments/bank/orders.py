"""Attempts as their acquirer knows them: our reference, and the bank's numbers by operation."""

from acquirers.gateway import Order
from acquirers.outcomes import Outcome
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


def keep_numbers(attempt: Attempt, outcome: Outcome, *, operation: str = "") -> None:
    """Keep the numbers that the bank has given an operation: a void or a refund may need them.

    Changes the locked attempt in memory; the caller saves it.

    :param operation: such as "capture."; empty for the authorisation.
    """
    numbers = {f"{operation}{name}": value for name, value in outcome.exchange.numbers.items()}
    attempt.bank_numbers = {**(attempt.bank_numbers or {}), **numbers} or None


def _numbers(attempt: Attempt) -> dict[str, str]:
    columns = ("authorization_code", "network_reference")
    told = {name: value for name in columns if (value := getattr(attempt, name))}
    return {**told, **(attempt.bank_numbers or {})}
