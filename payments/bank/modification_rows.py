"""Modifications as they are written down: begun before the bank is asked, locked to be ended."""

from datetime import datetime

from acquirers.conversation import leases, schedule
from acquirers.conversation.models import begun
from acquirers.outcomes import Answer
from core import clock, context, ids
from events import transitions
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import MODIFICATIONS, ModificationKind, ModificationStatus


def begin(
    attempt: Attempt,
    kind: ModificationKind,
    *,
    amount: int | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Modification:
    """Write down what the bank will be asked for, and take its lease.

    The caller has locked payment and attempt, and asks the bank after the commit.

    :param amount: of a capture, in minor units.
    :param reason: of a cancellation.
    :param request_id: None for the current request.
    """
    cause = context.request_id() if request_id is None else request_id
    row = _drafted(attempt, kind, request_id=cause, lease_until=leases.end())
    row.amount, row.reason = amount, reason
    row.save(force_insert=True)
    return row


def leave_to_sweeper(
    attempt: Attempt, kind: ModificationKind, *, reason: str | None = None, request_id: str
) -> None:
    """Write down what the sweeper will ask the bank for; the caller has locked the attempt.

    :param request_id: empty if no request is its cause: its event then names the work that ends it.
    """
    row = _drafted(attempt, kind, request_id=request_id, lease_until=None)
    row.reason = reason
    row.save(force_insert=True)


def _drafted(
    attempt: Attempt, kind: ModificationKind, *, request_id: str, lease_until: datetime | None
) -> Modification:
    now = clock.now()
    return Modification(
        id=ids.new("mod"),
        merchant_id=attempt.merchant_id,
        attempt=attempt,
        kind=kind,
        request_id=request_id,
        created_at=now,
        **begun(now, lease_until=lease_until),
    )


def locked(modification: Modification) -> Modification:
    """Return the modification as it is now: payment, attempt and row are locked, in this order."""
    intents = PaymentIntent.objects.select_related("merchant")
    intent = intents.lock(modification.attempt.intent_id)
    rows = Modification.objects.select_related("attempt")
    now: Modification = rows.select_for_update(of=("self", "attempt")).get(id=modification.id)
    now.attempt.intent = intent
    return now


def supersede(attempt: Attempt) -> None:
    """End the release of an expired authorisation that is under way: a merchant's takes its place.

    Both release the same money, once. The answer to the first is dropped when it comes.
    """
    under_way = attempt.modifications.filter(status=ModificationStatus.PROCESSING)
    for row in under_way.select_for_update():  # One at most.
        close(row, ModificationStatus.SUPERSEDED, Answer.UNKNOWN)
        row.save()


def close(row: Modification, status: ModificationStatus, answer: Answer) -> None:
    """Write down how a locked modification ended, in memory; the caller saves it."""
    transitions.change(row, status, table=MODIFICATIONS)
    row.answer, row.closed_at = answer.value, clock.now()
    schedule.never_look(row)
    leases.end_with(row)


def has_open(attempt: Attempt) -> bool:
    """Return whether the bank is being asked for a modification of the attempt."""
    return attempt.modifications.filter(status=ModificationStatus.PROCESSING).exists()
