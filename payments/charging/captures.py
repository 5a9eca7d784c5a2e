"""Captures: take money that was authorised (contract 3, capture)."""

from collections.abc import Callable

from django.db import transaction

import acquirers
from acquirers import slots
from acquirers.outcomes import NEVER_SENT
from api import idempotency
from core import clock
from core.errors import DomainError, Explained, UpstreamUnavailable
from merchants import accounts, audit_log
from merchants.models import Merchant
from payments.bank import inquiries, modification_rows, modifications
from payments.intents import deadlines
from payments.intents.models import Modification, PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import AttemptStatus, ModificationKind, PaymentStatus


class AmountAboveCapturable(DomainError):
    code = "amount_too_large"
    message = "The amount is above what can be captured."
    param = "amount_to_capture"
    is_lasting = True


class PartialCaptureNotAllowed(DomainError):
    explained = Explained(
        cause=(
            "A part of a payment in installments was to be captured. Banks take such payments "
            "whole."
        ),
        remedy=(
            "Capture without `amount_to_capture`, then refund the difference. Or cancel the payment"
            " and create another one."
        ),
    )
    code = "partial_capture_not_allowed"
    message = "A payment in installments is captured whole."
    param = "amount_to_capture"
    is_lasting = True


class CaptureExpired(DomainError):
    explained = Explained(
        cause="The authorisation is older than seven days, and the bank has released the money.",
        remedy="Create a new payment and ask the customer for a card again.",
    )
    code = "capture_expired"
    message = "The authorisation is older than 7 days."
    is_lasting = True


@slots.in_a_slot
def capture(
    merchant: Merchant,
    intent_id: str,
    amount: int | None,
    agree: Callable[[Modification], object] | None = None,
) -> PaymentIntent:
    """Take what was authorised, or a part of it; the rest is released.

    :param amount: minor units; None for the whole authorisation.
    :param agree: looks at the capture as it is written, with its payment locked, before the commit;
        if it raises, nothing was written.
    :raises MerchantRestricted: the account is closed.
    :raises IntentUnexpectedState: nothing awaits a capture.
    :raises LockTimeout: its bank is being asked already.
    :raises CaptureExpired: the authorisation is over.
    :raises AmountAboveCapturable: more than is authorised.
    :raises UpstreamUnavailable: the installation cannot reach the attempt's bank.
    :raises PartialCaptureNotAllowed: a part, of a payment in installments.
    """
    accounts.require_captures(merchant)
    inquiries.ask_first(merchant, intent_id)
    modification = modifications.run(_open(merchant, intent_id, amount, agree))
    if modification.ended_with(*NEVER_SENT):
        idempotency.forget()
        raise UpstreamUnavailable("The bank cannot be reached; nothing was captured.")
    return modification.attempt.intent


@transaction.atomic(durable=True)
def _open(
    merchant: Merchant,
    intent_id: str,
    amount: int | None,
    agree: Callable[[Modification], object] | None,
) -> Modification:
    idempotency.take(intent_id, is_finished=False)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(intent_id)
    if intent.status != PaymentStatus.REQUIRES_CAPTURE:
        raise IntentUnexpectedState(intent, "A capture", [PaymentStatus.REQUIRES_CAPTURE])
    inquiries.refuse_in_flight(intent)
    attempt = intent.attempts.select_for_update().get(status=AttemptStatus.AUTHORIZED)
    if clock.now() >= deadlines.expires_at(attempt):
        raise CaptureExpired
    amount = intent.amount_capturable if amount is None else amount
    _require_amount(intent, amount)
    acquirers.of(attempt)  # Without an adapter nothing is written down.
    begun = modification_rows.begin(attempt, ModificationKind.CAPTURE, amount=amount)
    audit_log.record_by_person(
        "payment.captured", merchant=merchant, subject=intent_id, after={"amount": amount}
    )
    if agree:
        agree(begun)
    return begun


def _require_amount(intent: PaymentIntent, amount: int) -> None:
    if amount > intent.amount_capturable:
        raise AmountAboveCapturable(advice=f"amount_capturable is {intent.amount_capturable}.")
    if amount < intent.amount_capturable and intent.installments > 1:
        raise PartialCaptureNotAllowed
