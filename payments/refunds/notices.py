"""Notices of a bank about refunds: money that could not be credited to the card came back."""

from typing import Protocol

from acquirers.notices.refusals import NotKnown
from payments.intents.models import Attempt
from payments.refunds import asking, steps
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason, Method, RefundStatus


class Bounced(Protocol):
    """A notice of a refund that bounced; the card's bank says why by an ISO 8583 code."""

    refund_reference: str | None
    network_reason_code: str | None


def refund_bounced(notice: Bounced, attempt: Attempt) -> None:
    """Fail a refund whose money came back; in the transaction that marks the notice as applied.

    One that is still pending here has gone out and come back since the bank was asked last.

    :raises NotKnown: no refund of the attempt has left under that reference.
    """
    sent = Refund.objects.filter(method=Method.REFUND, sent_at__isnull=False)
    of_attempt = sent.filter(merchant_id=attempt.merchant_id, attempt=attempt)
    found = of_attempt.filter(acquirer_reference=notice.refund_reference).first()
    if found is None:
        raise NotKnown(notice.refund_reference)
    refund = steps.locked(found)
    if refund.status in (RefundStatus.PENDING, RefundStatus.SUCCEEDED):
        reason = asking.reason_of(notice.network_reason_code)
        steps.fail(refund, reason or FailureReason.UNKNOWN)
