"""Recovery: a retry with the same Idempotency-Key finishes the work of a request that died.

Source of the rules: contract 6.
"""

from django.db import transaction
from django.db.models import Q

import acquirers
from acquirers import exchanges, slots
from acquirers.gateway import NEVER_SENT, Answer, Outcome
from core import clock, context
from core.querysets import MerchantRows
from merchants.idempotency import Earlier, IdempotencyKeyInUse
from merchants.models import Merchant
from payments.intents import authorization, confirmation, inquiries, leases, modifications
from payments.intents.cancellations import CancelFailed
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus, ModificationKind, Status
from vault import cvc as vault_cvc


def resume(merchant: Merchant, earlier: Earlier, *, cvc: str | None) -> PaymentIntent:
    """Finish the work that the earlier request began on its payment, and return the payment.

    A closed attempt is never sent again: its outcome is the answer.

    :param cvc: from the retry's body; the earlier request's code was never stored on disk.
    :raises IdempotencyKeyInUse: the sweeper is asking the bank this moment.
    :raises AcquirerBusy: no slot came free; nothing has changed, and a later retry can succeed.
    """
    intents = PaymentIntent.objects.for_merchant(merchant)
    unfinished = _unfinished(merchant, earlier)
    if not earlier.is_finished and unfinished.exists():
        with slots.for_merchant(merchant.id):
            _finish(unfinished, cvc)
    intent = intents.find(earlier.object_id)
    if cvc and earlier.is_finished:
        _hold_again(intent, cvc)
    return intent


def _unfinished(merchant: Merchant, earlier: Earlier) -> MerchantRows:
    attempts = Attempt.objects.for_merchant(merchant).filter(intent_id=earlier.object_id)
    is_authorizing = Q(request_id=earlier.request_id, status=AttemptStatus.PROCESSING)
    is_operating = Q(operation_request_id=earlier.request_id)
    return attempts.filter(is_authorizing | is_operating)


def _hold_again(intent: PaymentIntent, cvc: str) -> None:
    """Hold the security code of a stored card, if the create died between card and code.

    The payment is checked again afterwards: a confirm may have begun meanwhile. It drops the code
    of the stored card only when it opens its attempt, so a code held after that would stay.
    """
    token = intent.sealed_card_id if intent.status == Status.REQUIRES_CONFIRMATION else None
    if token is None or intent.attempts.exists():
        return
    vault_cvc.hold(token, cvc)
    if intent.attempts.exists():
        vault_cvc.drop(token)


def _finish(unfinished: MerchantRows, cvc: str | None) -> None:
    """Take the lease of the unfinished attempt, if there is one, and bring it to its end."""
    found = unfinished.first()
    if found is None:
        return
    attempt = leases.take(found)
    if attempt is None:
        holder = unfinished.first()
        raise IdempotencyKeyInUse(until=holder.lease_until if holder else None)
    if not unfinished.exists():
        leases.give_back(attempt)
        return  # Another process has finished it since it was found.
    context.mark_irrevocable()
    if attempt.operation and acquirers.of(attempt).capabilities.references_are_idempotent:
        _operate_again(attempt)
    elif _awaits_its_beginning(attempt):
        confirmation.pursue(attempt, cvc=cvc)
    else:
        _ask_first(attempt, cvc)


def _operate_again(attempt: Attempt) -> None:
    operation = attempt.operation
    intent, outcome = modifications.run_again(attempt)
    if operation == ModificationKind.VOID and outcome.answer is Answer.DECLINED:
        raise CancelFailed(intent)


def _awaits_its_beginning(attempt: Attempt) -> bool:
    """Tell whether 3-D Secure has not begun yet; to begin it twice charges nothing."""
    return attempt.authentication_demanded and attempt.acs_url is None


def _ask_first(attempt: Attempt, cvc: str | None) -> None:
    with leases.given_back(attempt):
        outcome = inquiries.ask(attempt)
        if outcome.answer is Answer.NO_RECORD and _may_send_again(attempt, cvc):
            outcome = _send_again(attempt, cvc, outcome)
        if attempt.operation:
            modifications.apply(attempt, outcome)
        else:
            confirmation.conclude(attempt, outcome, cvc=cvc)


def _may_send_again(attempt: Attempt, cvc: str | None) -> bool:
    is_plain = attempt.operation is None and not attempt.authentication_demanded
    return (
        is_plain
        and cvc is not None
        and acquirers.of(attempt).capabilities.references_are_idempotent
    )


def _send_again(attempt: Attempt, cvc: str | None, inquiry: Outcome) -> Outcome:
    if not _begin_again(attempt, inquiry):
        return Outcome(Answer.UNKNOWN)
    outcome = authorization.authorize(attempt, cvc=cvc)
    # This request did not reach the bank; the earlier one may have.
    return Outcome(Answer.UNKNOWN) if outcome.answer in NEVER_SENT else outcome


@transaction.atomic(durable=True)
def _begin_again(attempt: Attempt, inquiry: Outcome) -> bool:
    exchanges.record_inquiry(attempt, inquiry)
    # The new request may reach the bank late, so "no record" counts from now on only. Nothing is
    # sent for an attempt that has ended, or that another process has leased, since the inquiry.
    ours = Attempt.objects.filter(
        id=attempt.id, status=AttemptStatus.PROCESSING, lease_until=attempt.lease_until
    )
    return bool(ours.update(asked_at=clock.now(), no_record_count=0))
