"""Notices of the bank about transfers that come in, applied in the transaction that marks them.

Locks: the transfer, then its topup, then the merchant's money.
"""

from datetime import datetime
from typing import Protocol

from acquirers.transfers.taking_in import TransferNotKnown
from core import clock
from events import transitions
from payouts.topups import matching, steps
from payouts.topups.models import IncomingTransfer
from payouts.topups.states import ARRIVALS, Arrival, TopupStatus


class TopupNotice(Protocol):
    """A notice about a transfer in; the amount in minor units, the reference the bank's own."""

    rail: str
    reference: str
    remittance: str
    amount: int
    currency: str
    failure_code: str | None
    at: datetime


def received(notice: TopupNotice) -> None:
    """Let the topup succeed that a transfer is for, or keep the transfer as a case."""
    known = IncomingTransfer.objects.filter(rail=notice.rail, reference=notice.reference)
    if known.exists():
        return  # Told twice. Notices about one transfer are applied one after the other.
    topup = matching.waiting(notice.remittance, notice.amount, notice.currency)
    transfer = IncomingTransfer(
        rail=notice.rail,
        reference=notice.reference,
        remittance=notice.remittance,
        amount=notice.amount,
        currency=notice.currency,
        status=Arrival.MATCHED if topup else Arrival.UNMATCHED,
        merchant_id=topup.merchant_id if topup else None,
        topup=topup,
        arrived_at=notice.at,
        created_at=clock.now(),
    )
    transfer.save(force_insert=True)
    if topup is not None:
        steps.succeed(topup)


def refused(notice: TopupNotice) -> None:
    """Fail the topup whose transfer does not come; about any other transfer nothing is to do."""
    topup = matching.waiting(notice.remittance, notice.amount, notice.currency)
    if topup is not None:
        steps.fail(topup, notice.failure_code)


def reversed_(notice: TopupNotice) -> None:
    """Take back what came with a transfer that the bank has taken back.

    :raises TransferNotKnown: no such transfer has come.
    """
    locked = IncomingTransfer.objects.select_for_update()
    transfer = locked.filter(rail=notice.rail, reference=notice.reference).first()
    told = (notice.amount, notice.currency)
    if transfer is None or (transfer.amount, transfer.currency) != told:
        raise TransferNotKnown(notice.reference)
    if transfer.status == Arrival.REVERSED:
        return
    transitions.change(transfer, Arrival.REVERSED, table=ARRIVALS)
    transfer.save(update_fields=["status"])
    if transfer.topup_id is not None:
        topup = steps.locked(transfer.topup_id)
        assert topup.status == TopupStatus.SUCCEEDED
        steps.reverse(topup)
