"""Topups as they are locked, moved and closed; the caller owns the transaction."""

from typing import Any

from core import clock, context
from events.transitions import Door
from ledger import book
from payouts.topups import render
from payouts.topups.models import Topup
from payouts.topups.states import TOPUPS, FailureCode, TopupStatus

DOOR = Door(TOPUPS, render.topup)


def locked(topup_id: str) -> Topup:
    """Return a topup as it is now, locked, with its merchant."""
    rows = Topup.objects.select_related("merchant")
    now: Topup = rows.select_for_update(of=("self",)).get(id=topup_id)
    return now


def succeed(topup: Topup) -> None:
    """Make the money of a locked, pending topup available: its transfer has come."""
    before = render.topup(topup)
    book.topup(
        topup.merchant_id,
        amount=topup.amount,
        currency=topup.currency,
        cause_id=topup.id,
        now=clock.now(),
    )
    _close(topup, TopupStatus.SUCCEEDED, before)


def fail(topup: Topup, failure_code: str | None) -> None:
    """Fail a locked, pending topup: its transfer does not come."""
    before = render.topup(topup)
    is_known = failure_code in FailureCode.values
    topup.failure_code = failure_code if is_known else FailureCode.COULD_NOT_PROCESS
    _close(topup, TopupStatus.FAILED, before)


def cancel(topup: Topup) -> None:
    """Call a locked, pending topup off, in the name of the request that does it."""
    before = render.topup(topup)
    _close(topup, TopupStatus.CANCELED, before, request_id=context.request_id())


def reverse(topup: Topup) -> None:
    """Take the money of a locked topup that succeeded back: the bank has taken the transfer back.

    `available` may go below zero by it.
    """
    before = render.topup(topup)
    book.topup_reversed(topup.id, merchant_id=topup.merchant_id, now=clock.now())
    _close(topup, TopupStatus.REVERSED, before)


def _close(
    topup: Topup, status: TopupStatus, before: dict[str, Any], request_id: str | None = None
) -> None:
    topup.closed_at, topup.tell_at = clock.now(), None
    DOOR.move(topup, status, before, request_id=request_id or topup.request_id)
