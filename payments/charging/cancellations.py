"""Cancellation of a payment, as long as no money was taken (contract 3, cancel)."""

from collections.abc import Callable
from typing import NamedTuple

from django.db import transaction

import acquirers
from acquirers import slots
from acquirers.outcomes import NEVER_SENT
from api import idempotency
from core import context
from core.errors import DomainError, Explained, UpstreamUnavailable
from merchants import audit_log
from merchants.models import Merchant
from payments.bank import authorization, inquiries, modification_rows, modifications
from payments.bank.repayments import REFUSED
from payments.charging import intents
from payments.intents import render
from payments.intents.models import Modification, PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import AttemptStatus, ModificationKind, PaymentStatus
from payments.intents.transition import move
from vault import cvc as vault_cvc

CANCELABLE = (
    PaymentStatus.REQUIRES_PAYMENT_METHOD,
    PaymentStatus.REQUIRES_CONFIRMATION,
    PaymentStatus.REQUIRES_ACTION,
    PaymentStatus.REQUIRES_CAPTURE,
)


# The payment's door to its next status.
Move = Callable[..., None]


class CancelFailed(DomainError):
    """The bank did not release the authorisation; the answer carries the payment."""

    explained = Explained(
        cause=(
            "The bank refused to release what it had authorised. The payment stays in "
            "`requires_capture`, and the answer carries it. The bank may also have captured the "
            "money since: then the payment becomes `succeeded` within moments."
        ),
        remedy=(
            "Look at the payment again. One that has `succeeded` is refunded. Otherwise try again "
            "later: an authorisation ends by itself after seven days, and the card is not charged."
        ),
    )
    code = "cancel_failed"
    message = "The bank refused to release the authorisation."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(shown={"payment_intent": render.payment_intent(intent)})


class Begun(NamedTuple):
    """A payment after the first transaction of a cancellation.

    :param void: to be asked of the bank first; None if the payment is canceled.
    :param held: the card or attempt whose security code is dropped.
    """

    intent: PaymentIntent
    void: Modification | None
    held: tuple[str, ...] = ()


@slots.in_a_slot
def cancel(merchant: Merchant, intent_id: str, reason: str | None) -> PaymentIntent:
    """Cancel a payment; what is authorised is released at the bank first.

    :raises IntentUnexpectedState: its money was taken, it is canceled, or its outcome is unknown.
    :raises LockTimeout: its bank is being asked already.
    :raises CancelFailed: the bank refused to release what it holds.
    :raises UpstreamUnavailable: the bank cannot be reached, or does not say whether it has charged.
    """
    inquiries.ask_first(merchant, intent_id)
    inquiries.ask_about_a_lost_payer(merchant, intent_id)
    begun = _close_or_open_void(merchant, intent_id, reason)
    if begun.void is None:
        for token in begun.held:
            # After the commit: Redis is another machine.
            vault_cvc.drop(token)
        return begun.intent
    void = modifications.run(begun.void)
    if void.ended_with(*NEVER_SENT):
        idempotency.forget()
        raise UpstreamUnavailable("The bank cannot be reached; nothing was canceled.")
    if void.ended_with(*REFUSED):
        raise CancelFailed(void.attempt.intent)
    return void.attempt.intent


@transaction.atomic(durable=True)
def _close_or_open_void(merchant: Merchant, intent_id: str, reason: str | None) -> Begun:
    intents_of = PaymentIntent.objects.for_merchant(merchant).select_related("merchant")
    idempotency.take(intent_id, is_finished=False)
    intent = intents_of.lock(intent_id)
    if intent.status not in CANCELABLE:
        raise IntentUnexpectedState(intent, "A cancel", CANCELABLE)
    inquiries.refuse_in_flight(intent)
    if intent.status == PaymentStatus.REQUIRES_CAPTURE:
        attempt = intent.attempts.select_for_update().get(status=AttemptStatus.AUTHORIZED)
        acquirers.of(attempt)  # Without an adapter nothing is written down.
        modification_rows.supersede(attempt)
        void = modification_rows.begin(attempt, ModificationKind.VOID, reason=reason)
        _note_person(merchant, intent_id, reason)
        return Begun(intent, void)
    held = _held_for(intent)
    idempotency.finish()
    close(intent, reason)
    _note_person(merchant, intent_id, reason)
    return Begun(intent, None, held)


def _note_person(merchant: Merchant, intent_id: str, reason: str | None) -> None:
    audit_log.record_by_person(
        "payment.canceled", merchant=merchant, subject=intent_id, after={"reason": reason}
    )


def _held_for(intent: PaymentIntent) -> tuple[str, ...]:
    """Return the stored card, and the attempt whose payer is awaited: the last one shown."""
    awaited = intent.attempt_ids[-1:] if intent.status == PaymentStatus.REQUIRES_ACTION else []
    return tuple(token for token in (intent.sealed_card_id, *awaited) if token)


def close(intent: PaymentIntent, reason: str | None, *, through: Move = move) -> None:
    """Cancel a locked payment for which the bank holds nothing.

    A payer who comes back from 3-D Secure after this is too late: the attempt is closed as well.

    :param through: the door of payments; a session that ends with its payment has its own.
    """
    before = render.payment_intent(intent)
    intents.give_up_action(intent)
    through(intent, authorization.cancel(intent, reason), before, request_id=context.request_id())
