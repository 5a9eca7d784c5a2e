"""The dispute's door to a new status, always together with its event."""

from typing import Any

from core import context
from events import outbox
from events.transitions import Door
from payments.disputes import render
from payments.disputes.models import Dispute
from payments.disputes.states import DISPUTES, UPDATED_EVENT

DOOR = Door(DISPUTES, render.dispute)


def move(dispute: Dispute, status: str, before: dict[str, Any]) -> None:
    """Write the locked dispute with its next status, and the event, in the caller's transaction.

    The event names the current work as its cause: a merchant's request, or the job that brings the
    bank's decision.

    :param before: the dispute as `render` showed it right after it was locked.
    :raises UnlistedTransition: `payments.disputes.states` has no such change.
    """
    DOOR.move(dispute, status, before, request_id=context.request_id())


def require_listed(dispute: Dispute, status: str) -> None:
    """:raises UnlistedTransition: the dispute cannot come to the status from its own."""
    DISPUTES.event_of(dispute.status, status)


def write(dispute: Dispute, before: dict[str, Any]) -> None:
    """Write the locked dispute with its status, and the event if anything has changed."""
    after = render.dispute(dispute)
    if after != before:
        dispute.save()
        outbox.record(dispute.merchant, UPDATED_EVENT, after, before)
