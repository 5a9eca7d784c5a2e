"""The bank's answers to captures, voids and reversals, applied to payment, attempt and row.

The first process that learns how a modification ended applies the answer: the request, its retry,
or the sweeper.
"""

from typing import NamedTuple

from django.db import transaction

from acquirers import exchanges
from acquirers.declines import PROCESSING_ERROR
from acquirers.in_doubt import answers, leases, schedule
from acquirers.models import BankExchange
from acquirers.outcomes import NEVER_AT_THE_BANK, Answer, Outcome
from core import context
from merchants import idempotency
from payments.intents import authorization, modification_rows, render, reversals
from payments.intents.endings import end_unpaid
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.modification_rows import close
from payments.intents.repayments import RELEASED
from payments.intents.states import (
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    Status,
)
from payments.intents.transition import move

EXPIRED = "expired"
EXCHANGES = {
    ModificationKind.CAPTURE: BankExchange.Operation.CAPTURE,
    ModificationKind.VOID: BankExchange.Operation.VOID,
    ModificationKind.FALL_BACK: BankExchange.Operation.VOID,
    ModificationKind.REVERSE: BankExchange.Operation.REVERSAL,
}


class Applied(NamedTuple):
    """The modification as `apply` left it, with its attempt and payment.

    :param release: the release of a refused capture, which the asker goes on with: it has its
        lease.
    """

    modification: Modification
    release: Modification | None = None


@transaction.atomic(durable=True)
def apply(modification: Modification, outcome: Outcome) -> Applied:
    """Apply the bank's answer to the modification that it was asked for; safe to call twice.

    :param modification: as the asker read it before it asked, with its lease.
    """
    asked, modification = modification, modification_rows.locked(modification)
    _record_exchanges(modification, outcome)
    if modification.status != ModificationStatus.PROCESSING:
        _finish_unless_released(modification)
        return Applied(modification)  # Another process has applied an answer already.
    if not reversals.is_about(modification, asked, outcome):
        return Applied(modification)
    if outcome.answer in RELEASED:
        # It went back in the way that was asked for, whatever the bank has told since.
        modification.dispute_reference = asked.dispute_reference
    if not answers.counts(outcome, asked=asked, locked=modification):
        return Applied(modification)
    intent = modification.attempt.intent
    before = render.payment_intent(intent)
    status = _apply(modification, outcome)
    leases.end_with(modification)
    modification.save()
    release = _release_refused(modification)
    if release is None:
        _finish(modification)
    if status != intent.status:
        cause = modification.request_id or context.request_id()
        move(intent, status, before, request_id=cause)
    return Applied(modification, release)


def _record_exchanges(modification: Modification, outcome: Outcome) -> None:
    operation = EXCHANGES[ModificationKind(modification.kind)]
    attempt = modification.attempt
    exchanges.record_modification(attempt, outcome, operation=operation, row_id=modification.id)


def _finish(modification: Modification) -> None:
    """Write the recovery point: of this request, and of the one that began what ended."""
    idempotency.finish()
    if modification.status != ModificationStatus.PROCESSING:
        idempotency.finish_for(modification.merchant_id, modification.request_id)


def _finish_unless_released(modification: Modification) -> None:
    # A refused capture ends with its release, which another process may still be asking for.
    if not modification_rows.has_open(modification.attempt):
        idempotency.finish()


def _release_refused(modification: Modification) -> Modification | None:
    """Begin to release what the bank has refused to capture (contract 3, capture)."""
    is_refused = modification.ended_with(Answer.DECLINED)
    if modification.kind != ModificationKind.CAPTURE or not is_refused:
        return None
    return modification_rows.begin(
        modification.attempt, ModificationKind.FALL_BACK, request_id=modification.request_id
    )


def _apply(modification: Modification, outcome: Outcome) -> Status:
    """Write the answer's consequences into the rows; return the payment's next status."""
    answer = outcome.answer
    if answer is Answer.NO_RECORD:
        schedule.count_no_record(modification)
        if not schedule.absence_is_confirmed(modification):
            answer = Answer.UNKNOWN
    if answer in (Answer.UNKNOWN, Answer.PENDING):
        return _still_unknown(modification)
    match modification.kind:
        case ModificationKind.CAPTURE:
            return _captured(modification, outcome)
        case ModificationKind.VOID:
            return _voided(modification, outcome)
        case ModificationKind.FALL_BACK:
            return _fallen_back(modification, outcome)
    return _reversed(modification, outcome)


def _still_unknown(modification: Modification) -> Status:
    schedule.ask_later(modification)
    # A release that no merchant asked for stays invisible to them until it is done.
    is_ours = modification.kind == ModificationKind.REVERSE or modification.reason == EXPIRED
    return Status(modification.attempt.intent.status) if is_ours else Status.PROCESSING


def _captured(modification: Modification, outcome: Outcome) -> Status:
    attempt, intent = modification.attempt, modification.attempt.intent
    if outcome.answer is Answer.APPROVED:
        close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
        amount = outcome.captured or modification.amount or 0
        status = authorization.take_money(intent, attempt, amount)
        _keep_numbers(attempt, outcome)
        attempt.save()
        return status
    close(modification, ModificationStatus.FAILED, outcome.answer)
    if outcome.answer is Answer.DECLINED:
        attempt.error = authorization.error_of(attempt, PROCESSING_ERROR, outcome)
        attempt.save()
        return Status(intent.status)
    if outcome.answer is Answer.LAPSED:
        return _cancel(intent, attempt, EXPIRED)
    return _not_done(attempt)


def _keep_numbers(attempt: Attempt, outcome: Outcome) -> None:
    """Keep the capture's numbers beside the sale's: a void or a refund may need them."""
    numbers = {f"capture.{name}": value for name, value in outcome.exchange.numbers.items()}
    attempt.bank_numbers = {**(attempt.bank_numbers or {}), **numbers} or None


def _voided(modification: Modification, outcome: Outcome) -> Status:
    attempt = modification.attempt
    if outcome.answer in RELEASED:
        close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
        return _cancel(attempt.intent, attempt, modification.reason)
    close(modification, ModificationStatus.FAILED, outcome.answer)
    return _not_done(attempt)


def _fallen_back(modification: Modification, outcome: Outcome) -> Status:
    attempt, intent = modification.attempt, modification.attempt.intent
    if outcome.answer in NEVER_AT_THE_BANK:
        return _still_unknown(modification)
    if outcome.answer not in RELEASED:
        close(modification, ModificationStatus.FAILED, outcome.answer)
        return _not_done(attempt)
    close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
    if outcome.answer is Answer.LAPSED:
        # The bank says that the authorisation has expired (contract 3). That is no failure of the
        # card, so the payment does not ask for another one.
        attempt.error = None
        return _cancel(intent, attempt, EXPIRED)
    status = authorization.fail(intent, attempt, AttemptStatus.FAILED)
    attempt.save()
    return status


def _reversed(modification: Modification, outcome: Outcome) -> Status:
    if outcome.answer not in RELEASED:
        _still_unknown(modification)
        reversals.go_on(modification, outcome)
        return Status(modification.attempt.intent.status)
    close(modification, ModificationStatus.SUCCEEDED, outcome.answer)
    return Status(modification.attempt.intent.status)


def _cancel(intent: PaymentIntent, attempt: Attempt, reason: str | None) -> Status:
    end_unpaid(attempt, AttemptStatus.CANCELED)
    attempt.save()
    return authorization.cancel(intent, reason)


def _not_done(attempt: Attempt) -> Status:
    if attempt.error is not None:
        attempt.error = None
        attempt.save()
    return Status.REQUIRES_CAPTURE
