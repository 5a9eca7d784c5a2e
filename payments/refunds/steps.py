"""Refunds as they are locked, booked and closed; the caller owns the transaction."""

from datetime import datetime, timedelta
from typing import Any

from acquirers.conversation import leases, schedule
from core import clock
from events.transitions import Door
from ledger import book
from payments.intents import given_back
from payments.intents.models import PaymentIntent
from payments.refunds import render
from payments.refunds.models import Refund
from payments.refunds.states import REFUNDS, FailureReason, Method, PendingReason, RefundStatus

WAITS_FOR = timedelta(days=30)

DOOR = Door(REFUNDS, render.refund)


def locked(refund: Refund) -> Refund:
    """Return the refund as it is now: payment, attempt and refund are locked, in this order."""
    intent = PaymentIntent.objects.select_related("merchant").lock(refund.intent_id)
    rows = Refund.objects.select_related("attempt__terminal")
    now: Refund = rows.select_for_update(of=("self", "attempt")).get(id=refund.id)
    now.intent, now.merchant = intent, intent.merchant
    return now


def move(
    refund: Refund, status: RefundStatus, before: dict[str, Any], *, request_id: str | None = None
) -> None:
    """Write a locked refund with its next status, and the event.

    :param before: the refund as `render` showed it right after it was locked.
    :param request_id: of the event's cause; None for the request that created the refund.
    """
    DOOR.move(refund, status, before, request_id=request_id or refund.request_id)


def book_or_wait(refund: Refund) -> None:
    """Take the money of a refund from the merchant, or let the refund wait for it, in memory.

    A void never waits: its money has not left the bank.
    """
    refund.pending_reason = PendingReason.PROCESSING
    if refund.method == Method.VOID:
        book.void(refund.merchant_id, **_taken(refund))
        return
    try:
        book.refund(refund.merchant_id, **_taken(refund))
    except book.InsufficientFunds:
        refund.pending_reason = PendingReason.INSUFFICIENT_FUNDS
        schedule.look_at(refund, gives_up_at(refund))


def ask_whether_it_left(refund: Refund) -> None:
    """Let the bank be asked about a refund that may have left, in memory; its money is taken.

    Only a restore brings that about: the copy has the refund as it was before, maybe as a void.
    """
    if refund.method == Method.VOID:
        book.void_undone(refund.id, merchant_id=refund.merchant_id, now=clock.now())
        refund.method = Method.REFUND
        book.refund_that_left(refund.merchant_id, **_taken(refund))
    elif refund.is_waiting:
        book.refund_that_left(refund.merchant_id, **_taken(refund))
    refund.pending_reason = PendingReason.PROCESSING
    schedule.begin_asking(refund, clock.now())
    # The earliest moment: a bank without names of refunds is searched from then on.
    refund.sent_at = refund.created_at


def _taken(refund: Refund) -> dict[str, Any]:
    return {
        "amount": refund.amount,
        "charge_id": refund.attempt_id,
        "cause_id": refund.id,
        "now": clock.now(),
    }


def gives_up_at(refund: Refund) -> datetime:
    """Return when a refund that waits for funds fails."""
    return refund.created_at + WAITS_FOR


def fail(refund: Refund, reason: FailureReason) -> None:
    """Fail a locked refund that is pending, or that has bounced: its money is the merchant's."""
    before = render.refund(refund)
    move(refund, end_failed(refund, reason), before)


def end_failed(refund: Refund, reason: FailureReason) -> RefundStatus:
    """Write into the rows and the ledger that a refund has failed; return its next status."""
    _give_back(refund)
    refund.failure_reason = reason
    close(refund)
    return RefundStatus.FAILED


def cancel(refund: Refund, before: dict[str, Any], *, request_id: str) -> None:
    """Cancel a locked refund that has not left for the bank."""
    _give_back(refund)
    close(refund)
    move(refund, RefundStatus.CANCELED, before, request_id=request_id)


def _give_back(refund: Refund) -> None:
    given_back.give_back_refund(refund.intent, refund.amount)
    if refund.status == RefundStatus.SUCCEEDED:
        book.refund_bounced(refund.id, merchant_id=refund.merchant_id, now=clock.now())
    elif not refund.is_waiting:
        book.refund_returned(refund.id, merchant_id=refund.merchant_id, now=clock.now())


def close(refund: Refund) -> None:
    """End what is pending of a refund, in memory: nothing of it can become due any more."""
    refund.pending_reason = None
    refund.closed_at = clock.now()
    schedule.never_look(refund)
    leases.end_with(refund)
