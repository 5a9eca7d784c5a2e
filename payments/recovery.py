"""Going on where a request died, by its idempotency key (contract 6)."""

from django.db.models import Q

from core import clock, context
from merchants.idempotency import Earlier, IdempotencyKeyInUse
from merchants.models import Merchant
from payments import authorization, gateways, inquiries, leases, lifecycle, operations
from payments.cancellations import CancelFailed
from payments.gateways import slots
from payments.gateways.base import Answer, Outcome
from payments.models import Attempt, PaymentIntent
from payments.states import AttemptStatus, Operation, Status
from vault import cvc as vault_cvc


def resume(merchant: Merchant, earlier: Earlier, *, cvc: str | None) -> PaymentIntent:
    """Finish what the earlier request began with its payment, and return the payment.

    A closed attempt is never sent again: its outcome is the answer.

    :param cvc: the retry's own; the earlier request's was written nowhere.
    :raises IdempotencyKeyInUse: the sweeper is asking the bank this moment.
    :raises AcquirerBusy: no slot came free; the earlier request is as it was.
    """
    intents = PaymentIntent.objects.for_merchant(merchant)
    attempt = None if earlier.is_settled else _unfinished(merchant, earlier)
    if attempt:
        with slots.for_merchant(merchant.id):
            _finish(attempt, earlier, cvc)
    intent = intents.find(earlier.object_id)
    if cvc and earlier.is_settled and intent.status == Status.REQUIRES_CONFIRMATION:
        # The request may have died before it held the code of the card that it stored.
        vault_cvc.hold(intent.sealed_card_id, cvc)
    return intent


def _unfinished(merchant: Merchant, earlier: Earlier) -> Attempt | None:
    attempts = Attempt.objects.for_merchant(merchant).filter(intent_id=earlier.object_id)
    is_authorizing = Q(request_id=earlier.request_id, status=AttemptStatus.PROCESSING)
    is_operating = Q(operation_request_id=earlier.request_id)
    return attempts.filter(is_authorizing | is_operating).first()


def _is_unfinished(attempt: Attempt, earlier: Earlier) -> bool:
    is_authorizing = attempt.request_id == earlier.request_id and (
        attempt.status == AttemptStatus.PROCESSING
    )
    return is_authorizing or attempt.operation_request_id == earlier.request_id


def _finish(unfinished: Attempt, earlier: Earlier, cvc: str | None) -> None:
    attempt = leases.take(unfinished)
    if attempt is None:
        raise IdempotencyKeyInUse(until=unfinished.lease_until)
    if not _is_unfinished(attempt, earlier):
        leases.give_back(attempt)
        return  # Somebody else has finished it since it was found.
    context.mark_irrevocable()
    if attempt.operation and gateways.acquirer().references_are_idempotent:
        _operate_again(attempt)
    elif _awaits_its_beginning(attempt):
        lifecycle.pursue(attempt, cvc=cvc)
    else:
        _ask_first(attempt, cvc)


def _operate_again(attempt: Attempt) -> None:
    operation = attempt.operation
    intent, outcome = operations.run_again(attempt)
    if operation == Operation.VOID and outcome.answer is Answer.DECLINED:
        raise CancelFailed(intent)


def _awaits_its_beginning(attempt: Attempt) -> bool:
    """Tell whether 3-D Secure was to begin: nothing is charged by beginning it twice."""
    return attempt.authentication_demanded and attempt.acs_url is None


def _ask_first(attempt: Attempt, cvc: str | None) -> None:
    with leases.given_back(attempt):
        outcome = inquiries.ask(attempt)
        if outcome.answer is Answer.NO_RECORD and _may_send_again(attempt, cvc):
            outcome = _send_again(attempt, cvc)
        if attempt.operation:
            operations.settle(attempt, outcome)
        else:
            lifecycle.conclude(attempt, outcome, cvc=cvc)


def _may_send_again(attempt: Attempt, cvc: str | None) -> bool:
    is_plain = attempt.operation is None and not attempt.authentication_demanded
    return is_plain and cvc is not None and gateways.acquirer().references_are_idempotent


def _send_again(attempt: Attempt, cvc: str | None) -> Outcome:
    # From now on the bank may get it late: its "no record" counts from here. And nothing is sent
    # for an attempt that has ended, or that somebody else has leased, since the inquiry.
    ours = Attempt.objects.filter(
        id=attempt.id, status=AttemptStatus.PROCESSING, lease_until=attempt.lease_until
    )
    if not ours.update(asked_at=clock.now(), no_record_count=0):
        return Outcome(Answer.UNKNOWN)
    outcome = authorization.authorize(attempt, cvc=cvc)
    # What certainly did not leave now says nothing about what left before.
    return Outcome(Answer.UNKNOWN) if outcome.answer is Answer.NOT_SENT else outcome
