"""The bank's answers to refunds, applied to payment, refund and ledger.

The first process that learns how a refund ended applies the answer: the request, its retry, or the
sweeper.
"""

from typing import Any

from django.db import transaction

from acquirers import declines, exchanges
from acquirers.in_doubt import answers, leases, schedule
from acquirers.models import BankExchange
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from core import clock
from ledger import book
from merchants import idempotency
from payments.refunds import late_answers, render, rows
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason, Method, Status

EXCHANGES = {
    Method.VOID: BankExchange.Operation.VOID,
    Method.REFUND: BankExchange.Operation.REFUND,
}
FAILURES = {
    "lost_card": FailureReason.LOST_OR_STOLEN_CARD,
    "stolen_card": FailureReason.LOST_OR_STOLEN_CARD,
    "expired_card": FailureReason.EXPIRED_OR_CANCELED_CARD,
}


@transaction.atomic(durable=True)
def apply(asked: Refund, outcome: Outcome) -> Refund:
    """Apply the bank's answer to the refund that it was asked for; safe to call twice.

    :param asked: as the asker read it before it asked, with its lease.
    :returns: the refund as it is now. If its method has changed, it has not been sent yet.
    """
    return applied(asked, outcome)


def applied(asked: Refund, outcome: Outcome, *, request_id: str | None = None) -> Refund:
    """Apply the bank's answer as `apply` does, in the caller's transaction.

    :param request_id: the request that the event names as its cause: an operator's, whose
        decision stands in for the bank's answer; None for the one that created the refund.
    """
    refund = rows.locked(asked)
    _record_exchanges(asked, outcome)
    idempotency.finish()
    if refund.method != asked.method:
        # The answer to a void says nothing about the refund that the void has become since.
        late_answers.hear_of_void(refund, outcome.answer)
        return refund
    if refund.status != Status.PENDING:
        late_answers.hear(refund, outcome.answer)
        return refund  # Another process has applied an answer already.
    if not answers.counts(outcome, asked=asked, locked=refund):
        return refund
    leases.end_with(refund)
    _apply(refund, outcome, request_id)
    if refund.status != Status.PENDING:
        idempotency.finish_for(refund.merchant_id, refund.request_id)
    return refund


def _record_exchanges(asked: Refund, outcome: Outcome) -> None:
    operation = EXCHANGES[Method(asked.method)]
    exchanges.record_modification(asked.attempt, outcome, operation=operation, row_id=asked.id)


def _apply(refund: Refund, outcome: Outcome, request_id: str | None) -> None:
    before = render.refund(refund)
    match outcome.answer:
        case Answer.APPROVED:
            _succeed(refund, outcome, before, request_id)
        case Answer.DECLINED:
            reason = reason_of(outcome.response_code) or FailureReason.DECLINED
            rows.fail(refund, reason, before, request_id=request_id)
        case Answer.SETTLED if refund.method == Method.VOID:
            _become_refund(refund, before)
        case _:
            _still_pending(refund, outcome, before)


def _succeed(
    refund: Refund, outcome: Outcome, before: dict[str, Any], request_id: str | None
) -> None:
    book.refund_paid(refund.id, merchant_id=refund.merchant_id, now=clock.now())
    _note_reference(refund, outcome)
    rows.close(refund)
    rows.move(refund, Status.SUCCEEDED, before, request_id=request_id)


def _note_reference(refund: Refund, outcome: Outcome) -> None:
    # A void is on no statement: whatever number the bank gives it, the cardholder never sees it.
    if refund.method == Method.REFUND:
        refund.reference = outcome.network_reference or refund.reference


def reason_of(response_code: str | None) -> FailureReason | None:
    """Return the reason that a bank's code stands for, in the words of `failure_reason`.

    :param response_code: ISO 8583.
    """
    decline = declines.BY_RESPONSE_CODE.get(response_code or "")
    return FAILURES.get(decline.decline_code or "") if decline else None


def _become_refund(refund: Refund, before: dict[str, Any]) -> None:
    """Go on as a refund, in the same object: the bank's day is over, and nothing was voided."""
    book.void_undone(refund.id, merchant_id=refund.merchant_id, now=clock.now())
    refund.method, refund.sent_at = Method.REFUND, None
    schedule.look_at(refund, clock.now())
    rows.book_or_wait(refund)
    rows.move(refund, Status.PENDING, before)


def _still_pending(refund: Refund, outcome: Outcome, before: dict[str, Any]) -> None:
    schedule.ask_later(refund)
    if outcome.answer in NEVER_SENT:
        refund.sent_at = None  # It certainly did not leave; it is sent again by itself.
    if outcome.answer is Answer.NO_RECORD:
        _count_no_record(refund)
    if outcome.answer is Answer.PENDING:
        _note_reference(refund, outcome)
    if render.refund(refund) == before:
        refund.save()  # Still no answer: no event.
    else:
        rows.move(refund, Status.PENDING, before)


def _count_no_record(refund: Refund) -> None:
    schedule.count_no_record(refund)
    if schedule.absence_is_confirmed(refund):
        schedule.look_at(refund, clock.now())  # It is sent again in the next round.
