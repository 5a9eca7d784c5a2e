"""Recovery: a retry with the same Idempotency-Key finishes the work of a request that died.

Source of the rules: contract 6.
"""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet

import acquirers
from acquirers import exchanges, slots
from acquirers.conversation import answers, leases, resuming, settling
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from api import idempotency
from api.idempotency import Earlier
from core import clock
from core.errors import UpstreamUnavailable
from merchants.models import Merchant
from payments.bank import attempts, authorization, modifications
from payments.bank.repayments import REFUSED
from payments.charging import confirmation, intents
from payments.charging.cancellations import CancelFailed
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import (
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    PaymentStatus,
)
from vault import cvc as vault_cvc


def resume(merchant: Merchant, earlier: Earlier, *, cvc: str | None) -> PaymentIntent:
    """Finish the work that the earlier request began on its payment, and return the payment.

    A closed attempt is never sent again: its outcome is the answer.

    :param cvc: from the retry's body; the earlier request's code was never stored on disk.
    :raises IdempotencyKeyInUse: the sweeper is asking the bank this moment.
    :raises AcquirerBusy: no slot came free; nothing has changed, and a later retry can succeed.
    :raises CancelFailed: the bank has refused to release what it holds.
    :raises UpstreamUnavailable: the earlier capture or cancellation never left for the bank.
    """
    if not earlier.is_finished:
        _finish(merchant, earlier, cvc)
    intent = intents.find(merchant, earlier.object_id)
    if _has_ended(merchant, earlier, NEVER_SENT):
        idempotency.forget()
        raise UpstreamUnavailable("The bank could not be reached; nothing was done.")
    if _has_ended(merchant, earlier, REFUSED, kind=ModificationKind.VOID):
        raise CancelFailed(intent)
    if cvc and earlier.is_finished:
        _hold_again(intent, cvc)
    return intent


def _finish(merchant: Merchant, earlier: Earlier, cvc: str | None) -> None:
    """Bring to its end what the earlier request has left open at the bank, if there is anything."""
    unasked, modified = _open_attempts(merchant, earlier), _open_modifications(merchant, earlier)
    if unasked.exists():
        with slots.for_merchant(merchant.id):
            if attempt := resuming.leased(unasked):
                _finish_attempt(attempt, cvc)
        return
    settling.resume(modifications.KIND, merchant.id, modified, ask=modifications.order_again)


def _open_attempts(merchant: Merchant, earlier: Earlier) -> QuerySet[Attempt]:
    rows = Attempt.objects.for_merchant(merchant).filter(status=AttemptStatus.PROCESSING)
    return rows.filter(intent_id=earlier.object_id, request_id=earlier.request_id)


def _open_modifications(merchant: Merchant, earlier: Earlier) -> QuerySet[Modification]:
    return _modifications(merchant, earlier).filter(status=ModificationStatus.PROCESSING)


def _has_ended(
    merchant: Merchant, earlier: Earlier, ends: tuple[Answer, ...], **which: object
) -> bool:
    """Return whether one of these answers ended the modification, whichever process heard it."""
    rows = _modifications(merchant, earlier).filter(**which)
    return rows.filter(answer__in=[one.value for one in ends]).exists()


def _modifications(merchant: Merchant, earlier: Earlier) -> QuerySet[Modification]:
    rows = Modification.objects.for_merchant(merchant)
    return rows.filter(attempt__intent=earlier.object_id, request_id=earlier.request_id)


def _hold_again(intent: PaymentIntent, cvc: str) -> None:
    """Hold the security code of a stored card, if the create died between card and code.

    The payment is checked again afterwards: a confirm may have begun meanwhile. It drops the code
    of the stored card only when it opens its attempt, so a code held after that would stay.
    """
    token = intent.sealed_card_id if intent.status == PaymentStatus.REQUIRES_CONFIRMATION else None
    if token is None or intent.attempts.exists():
        return
    vault_cvc.hold(token, cvc)
    if intent.attempts.exists():
        vault_cvc.drop(token)


def _finish_attempt(attempt: Attempt, cvc: str | None) -> None:
    ask = None if _awaits_its_beginning(attempt) else partial(_ask_first, cvc=cvc)
    confirmation.pursue(attempt, cvc=cvc, ask=ask)


def _awaits_its_beginning(attempt: Attempt) -> bool:
    """Return whether 3-D Secure has not begun yet; to begin it twice charges nothing."""
    return attempt.authentication_demanded and attempt.acs_url is None


def _ask_first(attempt: Attempt, *, cvc: str | None) -> Outcome:
    outcome = attempts.KIND.ask(attempt)
    if outcome.answer is Answer.NO_RECORD and _may_send_again(attempt, cvc):
        return _send_again(attempt, cvc, outcome)
    return outcome


def _may_send_again(attempt: Attempt, cvc: str | None) -> bool:
    is_plain = cvc is not None and not attempt.authentication_demanded
    return is_plain and acquirers.of(attempt).capabilities.references_are_idempotent


def _send_again(attempt: Attempt, cvc: str | None, inquiry: Outcome) -> Outcome:
    if not _begin_again(attempt, inquiry):
        return Outcome(Answer.UNKNOWN)
    return answers.in_doubt(authorization.authorize(attempt, cvc=cvc))


@transaction.atomic(durable=True)
def _begin_again(attempt: Attempt, inquiry: Outcome) -> bool:
    exchanges.record_inquiry(attempt, inquiry)
    # The new request may reach the bank late, so "no record" counts from now on only. Nothing is
    # sent for an attempt that has ended, or that another process has leased, since the inquiry.
    ours = leases.is_ours(attempt).filter(status=AttemptStatus.PROCESSING)
    return bool(ours.update(asked_at=clock.now(), no_record_count=0))
