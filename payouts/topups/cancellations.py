"""Cancellation of a topup, as long as its transfer has not come (contract-money, Topup)."""

from django.db import transaction

from api import idempotency
from merchants import audit_log
from merchants.models import Merchant
from payouts.topups import steps
from payouts.topups.models import Topup
from payouts.topups.refusals import TopupUnexpectedState
from payouts.topups.states import TopupStatus


@transaction.atomic(durable=True)
def cancel(merchant: Merchant, topup_id: str) -> Topup:
    """Call a pending topup off: a transfer that comes later is a case.

    :raises ResourceMissing: the merchant has no such topup.
    :raises TopupUnexpectedState: its transfer has come, or it has ended.
    """
    idempotency.take(topup_id)
    topup = call_off(Topup.objects.for_merchant(merchant).lock(topup_id))
    audit_log.record_by_person("topup.canceled", merchant=merchant, subject=topup.id)
    return topup


def call_off(topup: Topup) -> Topup:
    """Call a locked topup off, in the caller's transaction.

    :raises TopupUnexpectedState: its transfer has come, or it has ended.
    """
    if topup.status != TopupStatus.PENDING:
        raise TopupUnexpectedState(topup)
    steps.cancel(topup)
    return topup
