"""Notices of the bank about payouts, applied in the transaction that marks them.

Each may come before the answer to the transfer itself, and twice; the bank's later notice wins.
"""

from datetime import datetime
from typing import Protocol

from acquirers import rails
from acquirers.notice_applier import NeedsPerson
from acquirers.transfers.models import TransferNotice
from acquirers.transfers.taking_in import TransferNotKnown
from payouts import steps
from payouts.models import Payout
from payouts.states import PayoutStatus


class PaidAfterItsEnd(NeedsPerson):
    """The bank has paid what had failed, so that the merchant may have the money twice."""


class PayoutNotice(Protocol):
    """A notice about a transfer out; the amount in minor units."""

    rail: str
    number: int
    reference: str
    amount: int
    currency: str
    failure_code: str | None
    trace_id: str | None
    at: datetime  # By the bank's clock.


def paid(notice: PayoutNotice) -> None:
    """Note that the money has arrived.

    :raises TransferNotKnown: no payout has left under that reference.
    :raises PaidAfterItsEnd: it has failed, and no notice says that it came back since.
    """
    payout = _locked(notice)
    if payout.status == PayoutStatus.IN_TRANSIT:
        steps.pay(payout, notice.trace_id, arrived_at=notice.at)
    elif payout.status == PayoutStatus.FAILED and not _is_of_before(notice):
        raise PaidAfterItsEnd(notice.reference)


def failed(notice: PayoutNotice) -> None:
    """Give the money back to the merchant: it did not arrive, or it came back.

    :raises TransferNotKnown: no payout has left under that reference.
    """
    payout = _locked(notice)
    if payout.status in (PayoutStatus.IN_TRANSIT, PayoutStatus.PAID):
        steps.fail(payout, notice.failure_code, notice.trace_id)


def _is_of_before(notice: PayoutNotice) -> bool:
    """Return whether the money came back after the payment that a notice is about.

    An inquiry may have found that before the bank's notices came; one may also come twice.
    """
    of_transfer = TransferNotice.objects.filter(rail=notice.rail, reference=notice.reference)
    came_back = of_transfer.filter(kind__in=(rails.FAILED, rails.RETURNED))
    is_known = of_transfer.filter(
        kind=rails.PAID, at=notice.at, number__lt=notice.number, applied_at__isnull=False
    )
    return came_back.filter(number__gt=notice.number).exists() or is_known.exists()


def _locked(notice: PayoutNotice) -> Payout:
    # One that is pending here has not left: a notice of it is somebody's mistake.
    left = Payout.objects.exclude(status__in=[PayoutStatus.PENDING, PayoutStatus.CANCELED])
    found = left.filter(acquirer_reference=notice.reference).first()
    if found is None or (found.amount, found.currency) != (notice.amount, notice.currency):
        raise TransferNotKnown(notice.reference)
    return steps.locked(found)
