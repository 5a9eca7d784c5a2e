"""The states of a payment and of an attempt, and which change emits which event.

spec: States and transitions; contract 8.
"""

from django.db import models


class Status(models.TextChoices):
    """`payment_intent.status`."""

    REQUIRES_PAYMENT_METHOD = "requires_payment_method"
    REQUIRES_CONFIRMATION = "requires_confirmation"
    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    REQUIRES_CAPTURE = "requires_capture"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"


class AttemptStatus(models.TextChoices):
    """`payment_attempt.status`; `processing` from the moment the row exists."""

    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    AUTHORIZED = "authorized"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"
    CANCELED = "canceled"


class UnlistedTransition(Exception):
    """A bug: the code asked for a change that the table does not know."""


CONFIRMABLE = (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_CONFIRMATION)
OPEN_ATTEMPT = (AttemptStatus.REQUIRES_ACTION, AttemptStatus.PROCESSING)
SUCCESSFUL_ATTEMPT = (AttemptStatus.AUTHORIZED, AttemptStatus.SUCCEEDED)

CREATED = "payment_intent.created"
FAILED = "payment_intent.payment_failed"

# (from, to): event. The database's trigger knows the same pairs (migration 0002).
TRANSITIONS = {
    (status, to): event
    for status in (*CONFIRMABLE, Status.PROCESSING)
    for to, event in {
        Status.SUCCEEDED: "payment_intent.succeeded",
        Status.REQUIRES_CAPTURE: "payment_intent.amount_capturable_updated",
        Status.PROCESSING: "payment_intent.processing",
        Status.REQUIRES_PAYMENT_METHOD: FAILED,
    }.items()
    if status != Status.PROCESSING or to != Status.PROCESSING
}


def event_of(before: str, after: str) -> str:
    """Return the event of a transition.

    :raises UnlistedTransition: the table has no such pair.
    """
    try:
        return TRANSITIONS[Status(before), Status(after)]
    except KeyError:
        raise UnlistedTransition(f"{before} → {after}") from None
