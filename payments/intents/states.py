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


class ModificationKind(models.TextChoices):
    """An operation that the bank is asked for on an authorised attempt; stored until it ends."""

    CAPTURE = "capture"
    VOID = "void"  # The merchant cancels, or the authorisation has expired.
    FALL_BACK = "fallback"  # The bank refused the capture: release the authorisation.
    REVERSE = "reverse"  # The bank charged after we had closed the attempt: give the money back.


class UnlistedTransition(Exception):
    """A bug: the code asked for a change of status that `TABLE` does not list."""


CONFIRMABLE = (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_CONFIRMATION, Status.REQUIRES_ACTION)
OPEN_ATTEMPT = (AttemptStatus.REQUIRES_ACTION, AttemptStatus.PROCESSING)
SUCCESSFUL_ATTEMPT = (AttemptStatus.AUTHORIZED, AttemptStatus.SUCCEEDED)

# The operations that hold a payment up. A reversal does not: its attempt is closed, and the
# payment may have gone on with another one.
IN_FLIGHT = (ModificationKind.CAPTURE, ModificationKind.VOID, ModificationKind.FALL_BACK)

CREATED = "payment_intent.created"
ACTION = "payment_intent.requires_action"
PROCESSING = "payment_intent.processing"
CAPTURABLE = "payment_intent.amount_capturable_updated"
SUCCEEDED = "payment_intent.succeeded"
FAILED = "payment_intent.payment_failed"
CANCELED = "payment_intent.canceled"

# from, to, event: every allowed change of a payment's status. The database's trigger
# knows the same pairs (migration 0002), and docs/states.md is made from this.
TABLE = (
    (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_ACTION, ACTION),
    (Status.REQUIRES_PAYMENT_METHOD, Status.PROCESSING, PROCESSING),
    (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_CAPTURE, CAPTURABLE),
    (Status.REQUIRES_PAYMENT_METHOD, Status.SUCCEEDED, SUCCEEDED),
    (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_PAYMENT_METHOD, FAILED),
    (Status.REQUIRES_PAYMENT_METHOD, Status.CANCELED, CANCELED),
    (Status.REQUIRES_CONFIRMATION, Status.REQUIRES_ACTION, ACTION),
    (Status.REQUIRES_CONFIRMATION, Status.PROCESSING, PROCESSING),
    (Status.REQUIRES_CONFIRMATION, Status.REQUIRES_CAPTURE, CAPTURABLE),
    (Status.REQUIRES_CONFIRMATION, Status.SUCCEEDED, SUCCEEDED),
    (Status.REQUIRES_CONFIRMATION, Status.REQUIRES_PAYMENT_METHOD, FAILED),
    (Status.REQUIRES_CONFIRMATION, Status.CANCELED, CANCELED),
    # Confirmed again while the payer was at the bank: a new attempt, perhaps with a new action.
    (Status.REQUIRES_ACTION, Status.REQUIRES_ACTION, ACTION),
    (Status.REQUIRES_ACTION, Status.PROCESSING, PROCESSING),
    (Status.REQUIRES_ACTION, Status.REQUIRES_CAPTURE, CAPTURABLE),
    (Status.REQUIRES_ACTION, Status.SUCCEEDED, SUCCEEDED),
    (Status.REQUIRES_ACTION, Status.REQUIRES_PAYMENT_METHOD, FAILED),
    (Status.REQUIRES_ACTION, Status.CANCELED, CANCELED),
    (Status.PROCESSING, Status.REQUIRES_CAPTURE, CAPTURABLE),
    (Status.PROCESSING, Status.SUCCEEDED, SUCCEEDED),
    (Status.PROCESSING, Status.REQUIRES_PAYMENT_METHOD, FAILED),
    (Status.PROCESSING, Status.CANCELED, CANCELED),
    (Status.REQUIRES_CAPTURE, Status.SUCCEEDED, SUCCEEDED),
    (Status.REQUIRES_CAPTURE, Status.PROCESSING, PROCESSING),
    (Status.REQUIRES_CAPTURE, Status.REQUIRES_PAYMENT_METHOD, FAILED),
    (Status.REQUIRES_CAPTURE, Status.CANCELED, CANCELED),
)
TRANSITIONS = {(before, after): event for before, after, event in TABLE}


def event_of(before: str, after: str) -> str:
    """Return the event of a transition.

    :raises UnlistedTransition: the table has no such pair.
    """
    try:
        return TRANSITIONS[Status(before), Status(after)]
    except KeyError:
        raise UnlistedTransition(f"{before} → {after}") from None
