"""Cancellation of a payout, as long as it has not been sent (contract-money, Payout)."""

from django.db import transaction

from api import idempotency
from core import clock
from ledger import book
from merchants import audit_log
from merchants.models import Merchant
from payouts import render, steps
from payouts.models import Payout
from payouts.refusals import PayoutUnexpectedState
from payouts.states import PayoutStatus


@transaction.atomic(durable=True)
def cancel(merchant: Merchant, payout_id: str) -> Payout:
    """Call a pending payout off; its money is available again. It emits no event.

    :raises ResourceMissing: the merchant has no such payout.
    :raises PayoutUnexpectedState: it has been sent, or has ended.
    """
    idempotency.take(payout_id)
    payout = call_off(Payout.objects.for_merchant(merchant).lock(payout_id))
    audit_log.record_by_person("payout.canceled", merchant=merchant, subject=payout.id)
    return payout


def call_off(payout: Payout) -> Payout:
    """Call a locked payout off, in the caller's transaction.

    :raises PayoutUnexpectedState: it has been sent, or has ended.
    """
    if payout.status != PayoutStatus.PENDING:
        raise PayoutUnexpectedState(payout)
    before = render.payout(payout)
    book.payout_canceled(payout.id, merchant_id=payout.merchant_id, now=clock.now())
    steps.close(payout)
    steps.move(payout, PayoutStatus.CANCELED, before)
    return payout
