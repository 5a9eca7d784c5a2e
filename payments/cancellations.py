"""Calling a payment off, as long as it holds no money (contract 3, cancel)."""

from typing import NamedTuple

from django.db import transaction

from core import context
from core.errors import DomainError, UpstreamUnavailable
from merchants import idempotency
from merchants.models import Merchant
from payments import inquiries, intents, operations, render
from payments.gateways import slots
from payments.gateways.base import Answer
from payments.models import Attempt, PaymentIntent
from payments.refusals import IntentUnexpectedState
from payments.states import AttemptStatus, Operation, Status
from payments.transition import move
from vault import cvc as vault_cvc

CANCELABLE = (
    Status.REQUIRES_PAYMENT_METHOD,
    Status.REQUIRES_CONFIRMATION,
    Status.REQUIRES_ACTION,
    Status.REQUIRES_CAPTURE,
)


class CancelFailed(DomainError):
    """The bank did not release the authorisation; the answer carries the payment."""

    code = "cancel_failed"
    message = "The bank refused to release the authorisation."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(shown={"payment_intent": render.payment_intent(intent)})


class Begun(NamedTuple):
    """A payment that is canceled, or whose attempt is to be voided first.

    :param card: the token of the card that was stored with it; a canceled payment has none.
    """

    intent: PaymentIntent
    voiding: Attempt | None
    card: str | None


@slots.in_a_slot
def cancel(merchant: Merchant, intent_id: str, reason: str | None) -> PaymentIntent:
    """Cancel a payment; what is authorised is released at the bank first.

    :raises IntentUnexpectedState: it has money, is canceled, or its outcome is unknown.
    :raises LockTimeout: its bank is being asked already.
    :raises CancelFailed: the bank refused to release what it holds.
    """
    inquiries.ask_first(merchant, intent_id)
    begun = _close_or_open_void(merchant, intent_id, reason)
    if begun.voiding is None:
        if begun.card:
            # After the commit: Redis is another machine.
            vault_cvc.drop(begun.card)
        return begun.intent
    intent, outcome = operations.run(begun.voiding)
    if outcome.answer is Answer.NOT_SENT:
        idempotency.forget()
        raise UpstreamUnavailable("The bank cannot be reached; nothing was canceled.")
    if outcome.answer is Answer.DECLINED:
        raise CancelFailed(intent)
    return intent


@transaction.atomic(durable=True)
def _close_or_open_void(merchant: Merchant, intent_id: str, reason: str | None) -> Begun:
    intents_of = PaymentIntent.objects.for_merchant(merchant).select_related("merchant")
    idempotency.take(intent_id, is_settled=False)
    intent = intents_of.lock(intent_id)
    if intent.status not in CANCELABLE:
        raise IntentUnexpectedState(intent)
    intents.refuse_in_flight(intent)
    if intent.status == Status.REQUIRES_CAPTURE:
        attempt = intent.attempts.select_for_update().get(status=AttemptStatus.AUTHORIZED)
        operations.begin(attempt, Operation.VOID, reason=reason)
        return Begun(intent, attempt, None)
    card = intent.sealed_card_id
    _close(intent, reason)
    return Begun(intent, None, card)


def _close(intent: PaymentIntent, reason: str | None) -> None:
    """Cancel a payment that the bank holds nothing for; an answer of its payer comes too late."""
    before = render.payment_intent(intent)
    intents.give_up_action(intent)
    idempotency.settle()
    move(intent, operations.close(intent, reason), before, request_id=context.request_id())
