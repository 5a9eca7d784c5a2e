"""The kinds of cases, their status, and the decisions that a person may take (contract: Cases)."""

from django.db import models

from events.transitions import StatusChange, Table


class CaseKind(models.TextChoices):
    """The question that a case asks."""

    UNKNOWN_OUTCOME = "unknown_outcome", "The bank does not say"
    LATE_SUCCESS_REVERSED = "late_success_reversed", "Charged late, and given back"
    BANK_CONTRADICTS_BOOK = "bank_contradicts_book", "The bank contradicts the book"
    REVERSAL_STUCK = "reversal_stuck", "A late charge does not go back"
    REVERSED_BY_BANK = "reversed_by_bank", "Taken back by the bank"


class CaseStatus(models.TextChoices):
    OPEN = "open"
    RESOLVED = "resolved"


class CaseDecision(models.TextChoices):
    """A person's decision: it replaces the bank's answer until the bank gives one."""

    # About an authorisation or a capture.
    CHARGED = "charged", "The bank has charged the card"
    NOT_CHARGED = "not_charged", "The bank has not charged the card"
    # About a void, a release, a refund, or a late charge that is given back.
    RELEASED = "released", "The bank has released the money, or given it back"
    NOT_RELEASED = "not_released", "The bank has not released the money"
    ACKNOWLEDGED = "acknowledged", "Seen; nothing changes"


class Act(models.TextChoices):
    """The changes of a case that its history keeps."""

    OPENED = "opened"
    ASSIGNED = "assigned"
    DECIDED = "decided"
    SETTLED = "settled", "settled by the bank"
    CONFIRMED = "confirmed", "confirmed by the bank"
    REOPENED = "reopened"


# The decisions about money; the last one moves nothing.
ABOUT_MONEY = (
    CaseDecision.CHARGED, CaseDecision.NOT_CHARGED,
    CaseDecision.RELEASED, CaseDecision.NOT_RELEASED,
)  # fmt: skip
# The kinds of cases that close by a decision about money, or by the bank's word alone.
DECIDABLE = (CaseKind.UNKNOWN_OUTCOME, CaseKind.REVERSAL_STUCK)

CASES = Table("case", "cases.Case", beginnings=(CaseStatus.OPEN,), changes=(
    StatusChange(
        CaseStatus.OPEN, CaseStatus.RESOLVED, None,
        "The bank has answered, or an operator has decided.",
    ),
    StatusChange(
        CaseStatus.RESOLVED, CaseStatus.OPEN, None,
        "The bank's answer contradicts the operator's decision.",
    ),
))  # fmt: skip
