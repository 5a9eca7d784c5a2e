"""Payouts as they are locked, moved and closed; the caller owns the transaction."""

from datetime import datetime
from typing import Any

from acquirers.conversation import leases, schedule
from core import clock, local_days
from events.transitions import Door
from ledger import book
from merchants import owed_mails
from merchants.notices import MailKind
from payouts import render
from payouts.models import Payout
from payouts.states import PAYOUTS, FailureCode, PayoutStatus

DOOR = Door(PAYOUTS, render.payout)


def locked(payout: Payout) -> Payout:
    """Return the payout as it is now, locked."""
    rows = Payout.objects.select_related("merchant")
    now: Payout = rows.select_for_update(of=("self",)).get(id=payout.id)
    return now


def move(payout: Payout, status: PayoutStatus, before: dict[str, Any]) -> None:
    """Write a locked payout with its next status, and the event if the change has one.

    :param before: the payout as `render` showed it right after it was locked.
    """
    DOOR.move(payout, status, before, request_id=payout.request_id)


def pay(payout: Payout, trace_id: str | None, *, arrived_at: datetime | None) -> None:
    """Note that the money of a locked payout has arrived.

    :param arrived_at: by the bank; None if it does not say, and it is taken to be now.
    """
    before = render.payout(payout)
    move(payout, end_paid(payout, trace_id, arrived_at=arrived_at), before)


def end_paid(payout: Payout, trace_id: str | None, *, arrived_at: datetime | None) -> PayoutStatus:
    """Write into the row and the ledger that its money has arrived; return its next status.

    :param arrived_at: by the bank; None if it does not say, and it is taken to be now.
    """
    now = clock.now()
    book.payout_paid(payout.id, merchant_id=payout.merchant_id, now=now)
    timezone = payout.merchant.timezone
    day = local_days.of(_between(payout.sent_at, arrived_at or now, now), timezone)
    payout.arrival_at = local_days.begins(day, timezone)
    payout.trace_id = trace_id or payout.trace_id
    close(payout)
    return PayoutStatus.PAID


def _between(sent_at: datetime | None, arrived_at: datetime, now: datetime) -> datetime:
    # A bank's clock may be wrong: nothing arrives before it was sent, or after it was heard of.
    return min(max(sent_at or arrived_at, arrived_at), now)


def fail(payout: Payout, failure_code: str | None, trace_id: str | None = None) -> None:
    """Fail a locked payout that is in transit or was paid: its money is available again."""
    before = render.payout(payout)
    move(payout, end_failed(payout, failure_code, trace_id), before)


def end_failed(
    payout: Payout, failure_code: str | None, trace_id: str | None = None
) -> PayoutStatus:
    """Write into the row and the ledger that it has failed; return its next status."""
    give_back = book.payout_bounced if payout.status == PayoutStatus.PAID else book.payout_returned
    give_back(payout.id, merchant_id=payout.merchant_id, now=clock.now())
    is_known = failure_code in FailureCode.values
    payout.failure_code = failure_code if is_known else FailureCode.COULD_NOT_PROCESS
    payout.trace_id = trace_id or payout.trace_id
    close(payout)
    owed_mails.owe(payout.merchant, MailKind.PAYOUT_FAILED, payout.id, due_at=clock.now())
    return PayoutStatus.FAILED


def close(payout: Payout) -> None:
    """End what is open of a payout, in memory: nothing of it can become due any more."""
    payout.closed_at = clock.now()
    schedule.never_look(payout)
    leases.end_with(payout)
