"""The kinds of cases, their status, and the decisions that a person may take (contract: Cases)."""

from django.db import models

from events.transitions import Change, Table


class Kind(models.TextChoices):
    """The question that a case asks."""

    UNKNOWN_OUTCOME = "unknown_outcome", "The bank does not say"
    LATE_SUCCESS_REVERSED = "late_success_reversed", "Charged late, and given back"
    BANK_CONTRADICTS_BOOK = "bank_contradicts_book", "The bank contradicts the book"
    REVERSAL_STUCK = "reversal_stuck", "A late charge does not go back"


class Status(models.TextChoices):
    OPEN = "open"
    RESOLVED = "resolved"


class Decision(models.TextChoices):
    """A person's word. `charged` and `not_charged` stand in for the bank's, until it has spoken."""

    CHARGED = "charged", "The bank has charged the card"
    NOT_CHARGED = "not_charged", "The bank has not charged the card"
    ACKNOWLEDGED = "acknowledged", "Seen; nothing changes"


class Act(models.TextChoices):
    """The changes of a case that its history keeps."""

    OPENED = "opened"
    ASSIGNED = "assigned"
    DECIDED = "decided"
    SETTLED = "settled", "settled by the bank"
    CONFIRMED = "confirmed", "confirmed by the bank"
    REOPENED = "reopened"


# The decisions about money; the third one moves nothing.
ABOUT_MONEY = (Decision.CHARGED, Decision.NOT_CHARGED)

CASES = Table("case", "cases.Case", beginnings=(Status.OPEN,), changes=(
    Change(
        Status.OPEN, Status.RESOLVED, None,
        "The bank's word has settled it, or an operator has decided.",
    ),
    Change(
        Status.RESOLVED, Status.OPEN, None,
        "The bank has said otherwise than the operator had decided.",
    ),
))  # fmt: skip
