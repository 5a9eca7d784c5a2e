"""Notices of the bank about payouts, applied in the transaction that marks them.

Each may come before the answer to the transfer itself, and twice; the bank's later notice wins.
"""

from datetime import datetime
from typing import Protocol

from acquirers.transfers.taking_in import TransferNotKnown
from payouts import steps
from payouts.models import Payout
from payouts.states import PayoutStatus


class PayoutNotice(Protocol):
    """A notice about a transfer out; the amount in minor units."""

    reference: str
    amount: int
    currency: str
    failure_code: str | None
    trace_id: str | None
    at: datetime  # By the bank's clock.


def paid(notice: PayoutNotice) -> None:
    """Note that the money has arrived.

    :raises TransferNotKnown: no payout has left under that reference.
    """
    payout = _locked(notice)
    # One that failed may have been found returned by an inquiry before this older notice came. If
    # the bank has really paid it after all, the audit lists it.
    if payout.status == PayoutStatus.IN_TRANSIT:
        steps.pay(payout, notice.trace_id, arrived_at=notice.at)


def failed(notice: PayoutNotice) -> None:
    """Give the money back to the merchant: it did not arrive, or it came back.

    :raises TransferNotKnown: no payout has left under that reference.
    """
    payout = _locked(notice)
    if payout.status in (PayoutStatus.IN_TRANSIT, PayoutStatus.PAID):
        steps.fail(payout, notice.failure_code, notice.trace_id)


def _locked(notice: PayoutNotice) -> Payout:
    # One that is pending here has not left: a notice of it is somebody's mistake.
    left = Payout.objects.exclude(status__in=[PayoutStatus.PENDING, PayoutStatus.CANCELED])
    found = left.filter(acquirer_reference=notice.reference).first()
    if found is None or (found.amount, found.currency) != (notice.amount, notice.currency):
        raise TransferNotKnown(notice.reference)
    return steps.locked(found)
