"""The states of a dispute and of what is owed to its bank, and which change emits which event.

contract-money: Dispute.
"""

from django.db import models

from events.transitions import Change, Table


class Status(models.TextChoices):
    """`dispute.status`. An inquiry, at which the bank takes no money, begins with `warning_`."""

    NEEDS_RESPONSE = "needs_response"
    UNDER_REVIEW = "under_review"
    WON = "won"
    LOST = "lost"
    WARNING_NEEDS_RESPONSE = "warning_needs_response"
    WARNING_UNDER_REVIEW = "warning_under_review"
    WARNING_CLOSED = "warning_closed"


class Reason(models.TextChoices):
    """`dispute.reason`, the cardholder's."""

    FRAUDULENT = "fraudulent"
    PRODUCT_NOT_RECEIVED = "product_not_received"
    PRODUCT_UNACCEPTABLE = "product_unacceptable"
    DUPLICATE = "duplicate"
    CREDIT_NOT_PROCESSED = "credit_not_processed"
    SUBSCRIPTION_CANCELED = "subscription_canceled"
    UNRECOGNIZED = "unrecognized"
    GENERAL = "general"


class DeliveryKind(models.TextChoices):
    """A thing that is owed to the bank about a dispute."""

    EVIDENCE = "evidence"
    ACCEPTANCE = "acceptance"  # The merchant closed the dispute.
    END = "end"  # The merchant closed the inquiry; a chargeback is never accepted by it.


class DeliveryStatus(models.TextChoices):
    """`owed` from the moment the row exists, until the bank has it or does not want it any more."""

    OWED = "owed"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    SUPERSEDED = "superseded"


# By which a bank is told that a merchant has closed something.
CLOSES = (DeliveryKind.ACCEPTANCE, DeliveryKind.END)
# A merchant may give evidence, submit it, or close.
ANSWERABLE = (Status.NEEDS_RESPONSE, Status.WARNING_NEEDS_RESPONSE)
# After the submission of evidence.
SUBMITTED = {
    Status.NEEDS_RESPONSE: Status.UNDER_REVIEW,
    Status.WARNING_NEEDS_RESPONSE: Status.WARNING_UNDER_REVIEW,
}
OPEN_INQUIRY = (Status.WARNING_NEEDS_RESPONSE, Status.WARNING_UNDER_REVIEW)
INQUIRY = (*OPEN_INQUIRY, Status.WARNING_CLOSED)
# The statuses that the due date ends.
ENDED_BY_DUE_DATE = (Status.NEEDS_RESPONSE, *OPEN_INQUIRY)
CLOSED = (Status.WON, Status.LOST, Status.WARNING_CLOSED)

CREATED_EVENT = "dispute.created"
UPDATED_EVENT = "dispute.updated"
CLOSED_EVENT = "dispute.closed"

# Every allowed change of status, with its event; the database's triggers know the same pairs
# (migration 0002).
DISPUTES = Table("dispute", "disputes.Dispute", beginnings=(
    Status.NEEDS_RESPONSE, Status.WARNING_NEEDS_RESPONSE,
), changes=(
    Change(
        Status.NEEDS_RESPONSE, Status.UNDER_REVIEW, UPDATED_EVENT,
        "The merchant submitted evidence.",
    ),
    Change(
        Status.NEEDS_RESPONSE, Status.WON, CLOSED_EVENT,
        "The bank decided for the merchant; the money is released.",
    ),
    Change(
        Status.NEEDS_RESPONSE, Status.LOST, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank decided for the cardholder; "
        "the money is gone.",
    ),
    Change(
        Status.UNDER_REVIEW, Status.WON, CLOSED_EVENT,
        "The bank decided for the merchant; the money is released.",
    ),
    Change(
        Status.UNDER_REVIEW, Status.LOST, CLOSED_EVENT,
        "The bank decided for the cardholder; the money is gone.",
    ),
    Change(
        Status.LOST, Status.WON, CLOSED_EVENT,
        "The bank gave the money back after all.",
    ),
    Change(
        Status.WARNING_NEEDS_RESPONSE, Status.WARNING_UNDER_REVIEW, UPDATED_EVENT,
        "The merchant submitted evidence.",
    ),
    Change(
        Status.WARNING_NEEDS_RESPONSE, Status.WARNING_CLOSED, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank ended the inquiry.",
    ),
    Change(
        Status.WARNING_NEEDS_RESPONSE, Status.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back; there is a new due date.",
    ),
    Change(
        Status.WARNING_UNDER_REVIEW, Status.WARNING_CLOSED, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank ended the inquiry.",
    ),
    Change(
        Status.WARNING_UNDER_REVIEW, Status.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back; there is a new due date.",
    ),
    Change(
        Status.WARNING_CLOSED, Status.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back after the inquiry had ended; there is a new due date.",
    ),
), meanings={
    Status.NEEDS_RESPONSE: "The bank has taken the money back; evidence may win it.",
    Status.UNDER_REVIEW: "Evidence was submitted, and the bank decides.",
    Status.WON: "The merchant keeps the money.",
    Status.LOST: "The cardholder keeps the money.",
    Status.WARNING_NEEDS_RESPONSE: "An inquiry: the bank asks, and has taken no money.",
    Status.WARNING_UNDER_REVIEW: "An inquiry that was answered.",
    Status.WARNING_CLOSED: "An inquiry that ended without a chargeback.",
})  # fmt: skip
DELIVERIES = Table("dispute_delivery", "disputes.DisputeDelivery", beginnings=(
    DeliveryStatus.OWED,
), changes=(
    Change(
        DeliveryStatus.OWED, DeliveryStatus.ACKNOWLEDGED, None,
        "The bank has it.",
    ),
    Change(
        DeliveryStatus.OWED, DeliveryStatus.REFUSED, None,
        "The bank does not take it.",
    ),
    Change(
        DeliveryStatus.OWED, DeliveryStatus.SUPERSEDED, None,
        "The dispute went on or ended before the bank acknowledged it.",
    ),
))  # fmt: skip
