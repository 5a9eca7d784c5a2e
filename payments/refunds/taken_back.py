"""Captured money that the bank has given back by itself, as a refund that the service makes."""

from acquirers import references
from acquirers.conversation.models import begun
from core import clock, context, ids, money
from events import outbox
from ledger import book
from payments.intents import given_back
from payments.intents.models import Attempt
from payments.refunds import render, steps
from payments.refunds.models import Refund
from payments.refunds.states import CREATED, Method, RefundStatus

DESCRIPTION = "Reversed by the bank"


def book_whole(attempt: Attempt) -> str | None:
    """Book captured money that the bank has reversed; payment and attempt are locked.

    A refund of the whole is made, and has succeeded at once. What was refunded or disputed before,
    be it a part, is left to a person: the bank may have meant either.

    :returns: a sentence for the case; None if a void of ours has released it.
    """
    intent = attempt.intent
    if _is_ours(attempt):
        return None
    written = money.written(intent.captured_minor, intent.currency)
    if intent.refunded_minor or intent.disputed_minor:
        return (
            f"The bank has reversed the captured {written} by itself. A part was refunded or "
            "disputed before, so nothing is booked."
        )
    refund = _made(attempt)
    return f"The bank has reversed the captured {written} by itself: {refund.id} books it."


def _is_ours(attempt: Attempt) -> bool:
    voids = Refund.objects.filter(
        merchant_id=attempt.merchant_id, attempt=attempt, method=Method.VOID
    )
    return voids.filter(status__in=(RefundStatus.PENDING, RefundStatus.SUCCEEDED)).exists()


def _made(attempt: Attempt) -> Refund:
    """Write down a void of the whole, and its end."""
    now, intent = clock.now(), attempt.intent
    refund = Refund(
        id=ids.new("re"),
        merchant=intent.merchant,
        intent=intent,
        attempt=attempt,
        acquirer_reference=references.new(),
        amount=intent.captured_minor,
        currency=intent.currency,
        method=Method.VOID,
        description=DESCRIPTION,
        sent_at=now,
        request_id=context.request_id(),
        created_at=now,
        **begun(now, lease_until=None),
    )
    given_back.reserve_refund(intent, refund.amount)
    steps.book_or_wait(refund)
    refund.save(force_insert=True)
    before = render.refund(refund)
    outbox.record(intent.merchant, CREATED, before)
    book.refund_paid(refund.id, merchant_id=refund.merchant_id, now=now)
    steps.close(refund)
    steps.move(refund, RefundStatus.SUCCEEDED, before)
    return refund
