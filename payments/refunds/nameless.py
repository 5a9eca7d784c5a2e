"""Refunds at banks that keep no name of ours for them: one of a payment is under way at a time.

The bank's answer to an inquiry is the list of all refunds of the order. Which line is whose is
known as long as one refund at most has no number of the bank's yet.
"""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from acquirers.conversation import leases, schedule
from acquirers.gateway import SoughtRefund
from core import clock
from payments.bank import repayments
from payments.refunds.models import Refund
from payments.refunds.states import Method, RefundStatus

LOOKS_EVERY = timedelta(minutes=1)


def is_nameless(refund: Refund) -> bool:
    """Return whether the refund's bank keeps no name of it; a void goes by the order's."""
    return refund.method == Method.REFUND and not repayments.has_names(refund.attempt)


def sought(refund: Refund) -> SoughtRefund:
    """Return what an inquiry about a refund needs: of the order's others only where they count."""
    others = list(_others(refund)) if is_nameless(refund) else []
    unnumbered = [other for other in others if not other.bank_numbers and other.sent_at]
    return SoughtRefund(
        reference=refund.acquirer_reference,
        amount=refund.amount,
        sent_at=refund.sent_at or clock.now(),
        numbers=refund.bank_numbers or {},
        others=tuple(other.bank_numbers for other in others if other.bank_numbers),
        has_unnumbered_twin=any(other.amount == refund.amount for other in unnumbered),
    )


def has_turn(refund: Refund) -> bool:
    """Return whether no other refund of the locked payment may be at a bank without names."""
    if not is_nameless(refund):
        return True
    under_way = _others(refund).filter(status=RefundStatus.PENDING, sent_at__isnull=False)
    return not under_way.exists()


def wait(refund: Refund) -> None:
    """Let a locked refund look for its turn a minute later, in memory: it has not left."""
    refund.sent_at = None
    leases.end_with(refund)
    schedule.begin_asking(refund, clock.now())
    schedule.look_at(refund, clock.now() + LOOKS_EVERY)


def absence_not_before(refund: Refund) -> datetime | None:
    """Return until when "no record" of a refund proves nothing; None if it does at any time."""
    if refund.method != Method.REFUND:
        return None
    return repayments.absence_not_before(refund.attempt, refund.asked_at)


def _others(refund: Refund) -> QuerySet[Refund]:
    others = Refund.objects.filter(
        merchant_id=refund.merchant_id, intent_id=refund.intent_id, attempt_id=refund.attempt_id
    )
    return others.filter(method=Method.REFUND).exclude(id=refund.id)
