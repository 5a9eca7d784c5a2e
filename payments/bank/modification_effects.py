"""The consequences of captures and releases for payment and attempt, which are locked."""

from acquirers.outcomes import Outcome
from payments.bank import authorization
from payments.bank.endings import end_unpaid
from payments.bank.orders import keep_numbers
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import AttemptStatus, Status


def capture(modification: Modification, outcome: Outcome) -> Status:
    """Write into payment, attempt and ledger that the bank has captured the money."""
    attempt, intent = modification.attempt, modification.attempt.intent
    amount = outcome.captured or modification.amount or 0
    status = authorization.take_money(intent, attempt, amount)
    keep_numbers(attempt, outcome, operation="capture.")
    attempt.save()
    return status


def cancel(intent: PaymentIntent, attempt: Attempt, reason: str | None) -> Status:
    """Write that the bank holds nothing any more, and why the payment is canceled."""
    end_unpaid(attempt, AttemptStatus.CANCELED)
    attempt.save()
    return authorization.cancel(intent, reason)
