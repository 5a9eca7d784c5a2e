"""Taking money that was authorised (contract 3, capture)."""

from django.db import transaction

from core import clock
from core.errors import DomainError, UpstreamUnavailable
from merchants import idempotency
from merchants.models import Merchant
from payments import gateways, inquiries, intents, operations, schedule
from payments.gateways import slots
from payments.gateways.base import Answer
from payments.models import Attempt, PaymentIntent
from payments.refusals import IntentUnexpectedState
from payments.states import AttemptStatus, Operation, Status


class AmountAboveCapturable(DomainError):
    code = "amount_too_large"
    message = "The amount is above what can be captured."
    param = "amount_to_capture"


class PartialCaptureNotAllowed(DomainError):
    code = "partial_capture_not_allowed"
    message = "A payment in installments is captured whole."
    param = "amount_to_capture"


class CaptureExpired(DomainError):
    code = "capture_expired"
    message = "The authorisation is older than 7 days."
    is_lasting = True


@slots.in_a_slot
def capture(merchant: Merchant, intent_id: str, amount: int | None) -> PaymentIntent:
    """Take what was authorised, or a part of it; the rest is released.

    :param amount: minor units; None for all.
    :raises IntentUnexpectedState: nothing awaits a capture.
    :raises LockTimeout: its bank is being asked already.
    :raises CaptureExpired: the authorisation is over.
    :raises AmountAboveCapturable: more than is authorised.
    :raises PartialCaptureNotAllowed: a part, of a payment in installments.
    """
    gateways.acquirer()
    inquiries.ask_first(merchant, intent_id)
    attempt = _open(merchant, intent_id, amount)
    intent, outcome = operations.run(attempt)
    if outcome.answer is Answer.NOT_SENT:
        idempotency.forget()
        raise UpstreamUnavailable("The bank cannot be reached; nothing was captured.")
    return intent


@transaction.atomic(durable=True)
def _open(merchant: Merchant, intent_id: str, amount: int | None) -> Attempt:
    idempotency.take(intent_id, is_settled=False)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(intent_id)
    if intent.status != Status.REQUIRES_CAPTURE:
        raise IntentUnexpectedState(intent)
    intents.refuse_in_flight(intent)
    attempt = intent.attempts.select_for_update().get(status=AttemptStatus.AUTHORIZED)
    if clock.now() >= schedule.expires_at(attempt):
        raise CaptureExpired
    amount = intent.amount_capturable if amount is None else amount
    _require_amount(intent, amount)
    operations.begin(attempt, Operation.CAPTURE, amount=amount)
    return attempt


def _require_amount(intent: PaymentIntent, amount: int) -> None:
    if amount > intent.amount_capturable:
        raise AmountAboveCapturable
    if amount < intent.amount_capturable and intent.installments > 1:
        raise PartialCaptureNotAllowed
