"""Going on where a request died, by its idempotency key (contract 6)."""

from core import clock, context
from merchants.idempotency import Earlier, IdempotencyKeyInUse
from merchants.models import Merchant
from payments import gateways, inquiries, lifecycle
from payments.gateways.base import Answer, Outcome
from payments.models import Attempt, PaymentIntent
from payments.states import OPEN_ATTEMPT


def resume(merchant: Merchant, earlier: Earlier, *, cvc: str | None) -> PaymentIntent:
    """Finish what the earlier request began with its payment, and return the payment.

    A closed attempt is never sent again: its outcome is the answer.

    :param cvc: the retry's own; the earlier request's was written nowhere.
    :raises IdempotencyKeyInUse: the sweeper is asking the bank this moment.
    """
    intents = PaymentIntent.objects.for_merchant(merchant)
    if not earlier.is_settled:
        attempts = Attempt.objects.for_merchant(merchant).filter(request_id=earlier.request_id)
        attempt = attempts.filter(intent_id=earlier.object_id, status__in=OPEN_ATTEMPT).first()
        if attempt:
            _finish(attempt, cvc)
    return intents.find(earlier.object_id)


def _finish(attempt: Attempt, cvc: str | None) -> None:
    if not inquiries.take_lease(attempt):
        raise IdempotencyKeyInUse
    context.mark_irrevocable()
    with inquiries.lease_given_back(attempt):
        outcome = inquiries.ask(attempt)
        if outcome.answer is Answer.NO_RECORD and _may_send_again(cvc):
            outcome = _send_again(attempt, cvc)
        lifecycle.settle_surely(attempt, outcome)


def _may_send_again(cvc: str | None) -> bool:
    return cvc is not None and gateways.acquirer().references_are_idempotent


def _send_again(attempt: Attempt, cvc: str | None) -> Outcome:
    # From now on the bank may get it late: its "no record" counts from here.
    Attempt.objects.filter(id=attempt.id).update(asked_at=clock.now(), no_record_count=0)
    return lifecycle.authorize(attempt, cvc)
