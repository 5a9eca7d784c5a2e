"""Cancellation of a refund, as long as nothing has left for the bank (contract-money, Refund)."""

from django.db import transaction

from api import idempotency
from core import context
from merchants.models import Merchant
from payments.refunds import render, steps
from payments.refunds.models import Refund
from payments.refunds.refusals import RefundUnexpectedState
from payments.refunds.states import RefundStatus


@transaction.atomic(durable=True)
def cancel(merchant: Merchant, refund_id: str) -> Refund:
    """Call a refund off that waits for funds, or that certainly did not leave for the bank.

    :raises ResourceMissing: the merchant has no such refund.
    :raises RefundUnexpectedState: it may be at the bank, or it has ended.
    """
    idempotency.take(refund_id)
    found = Refund.objects.for_merchant(merchant).find(refund_id)
    refund = steps.locked(found)
    if refund.status != RefundStatus.PENDING or refund.sent_at is not None:
        raise RefundUnexpectedState(refund)
    steps.cancel(refund, render.refund(refund), request_id=context.request_id())
    return refund
