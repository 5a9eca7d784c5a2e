"""The states of a refund, and which change emits which event (contract-money, Refund)."""

from django.db import models

from events.transitions import StatusChange, Table

# `refund.reason`, which the merchant gives.


class RefundStatus(models.TextChoices):
    """`refund.status`."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Method(models.TextChoices):
    """`refund.method`: a whole payment of the bank's same day is voided, else it is a refund."""

    VOID = "void"
    REFUND = "refund"


class PendingReason(models.TextChoices):
    """`refund.pending_reason`: why a pending refund has not ended."""

    PROCESSING = "processing"  # At the bank, or on its way.
    INSUFFICIENT_FUNDS = "insufficient_funds"  # Waits for the merchant's money.
    BANK_DAY_OPEN = "bank_day_open"  # The bank takes it after the end of its day.


class FailureReason(models.TextChoices):
    """`refund.failure_reason`."""

    DECLINED = "declined"
    LOST_OR_STOLEN_CARD = "lost_or_stolen_card"
    EXPIRED_OR_CANCELED_CARD = "expired_or_canceled_card"
    INSUFFICIENT_FUNDS = "insufficient_funds"  # It waited for 30 days.
    DISPUTED = "charge_for_pending_refund_disputed"  # It waited, and a dispute left no room.
    UNKNOWN = "unknown"


CREATED = "refund.created"
UPDATED = "refund.updated"
SUCCEEDED = "refund.succeeded"
FAILED = "refund.failed"

# Every allowed change of status, with its event. The database's trigger knows the same pairs
# (migration 0002), and docs/reference/states.md is made from this table.
REFUNDS = Table("refund", "refunds.Refund", beginnings=(RefundStatus.PENDING,), changes=(
    StatusChange(
        RefundStatus.PENDING, RefundStatus.PENDING, UPDATED,
        "It began or stopped waiting for your funds, or for the end of the bank's day; that day "
        "was over, so that a `void` became a `refund`; or the bank gave its `reference`.",
    ),
    StatusChange(
        RefundStatus.PENDING, RefundStatus.SUCCEEDED, SUCCEEDED,
        "The bank has given the money back.",
    ),
    StatusChange(
        RefundStatus.PENDING, RefundStatus.FAILED, FAILED,
        "The bank refused it; or it waited for your funds for 30 days, or until a dispute left no "
        "room for it.",
    ),
    StatusChange(
        RefundStatus.PENDING, RefundStatus.CANCELED, UPDATED,
        "You canceled it before anything had left for the bank.",
    ),
    StatusChange(
        RefundStatus.SUCCEEDED, RefundStatus.FAILED, FAILED,
        "The money could not be credited to the card, and came back to the bank.",
    ),
), meanings={
    RefundStatus.PENDING: "The money is on its way, or waits: see `pending_reason`.",
    RefundStatus.SUCCEEDED: "The bank has given the money back.",
    RefundStatus.FAILED: "Nothing was given back: see `failure_reason`. It may be refunded again.",
    RefundStatus.CANCELED: "Canceled before anything had left for the bank.",
})  # fmt: skip
