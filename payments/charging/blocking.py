"""Attempts that a rule blocks: they fail in the transaction that writes them, and no bank hears."""

from acquirers.conversation import leases
from acquirers.declines import FRAUD_BLOCKED
from acquirers.outcomes import Answer, Outcome
from merchants import idempotency
from payments.bank import authorization
from payments.intents import render
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus
from payments.intents.transition import move


def block(intent: PaymentIntent, attempt: Attempt) -> None:
    """Fail an attempt that was written a moment ago, and tell `.payment_failed`.

    The message names no rule: it is shown to the payer (contract-terms, "risk and `fraud`").

    :param intent: locked.
    """
    before = render.payment_intent(intent)
    attempt.error = authorization.error_of(attempt, FRAUD_BLOCKED, Outcome(Answer.DECLINED))
    status = authorization.fail(intent, attempt, AttemptStatus.FAILED)
    leases.end_with(attempt)
    attempt.save()
    authorization.show_attempt(intent, attempt)
    move(intent, status, before, request_id=attempt.request_id, answer=idempotency.answer)
