"""The states of a dispute and of what is owed to its bank, and which change emits which event.

contract-money: Dispute.
"""

from django.db import models

from events.transitions import StatusChange, Table


class DisputeStatus(models.TextChoices):
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
ANSWERABLE = (DisputeStatus.NEEDS_RESPONSE, DisputeStatus.WARNING_NEEDS_RESPONSE)
# After the submission of evidence.
SUBMITTED = {
    DisputeStatus.NEEDS_RESPONSE: DisputeStatus.UNDER_REVIEW,
    DisputeStatus.WARNING_NEEDS_RESPONSE: DisputeStatus.WARNING_UNDER_REVIEW,
}
OPEN_INQUIRY = (DisputeStatus.WARNING_NEEDS_RESPONSE, DisputeStatus.WARNING_UNDER_REVIEW)
INQUIRY = (*OPEN_INQUIRY, DisputeStatus.WARNING_CLOSED)
# The statuses that the due date ends.
ENDED_BY_DUE_DATE = (DisputeStatus.NEEDS_RESPONSE, *OPEN_INQUIRY)
CLOSED = (DisputeStatus.WON, DisputeStatus.LOST, DisputeStatus.WARNING_CLOSED)

CREATED_EVENT = "dispute.created"
UPDATED_EVENT = "dispute.updated"
CLOSED_EVENT = "dispute.closed"

# Every allowed change of status, with its event; the database's triggers know the same pairs
# (migrations 0002 and 0003).
DISPUTES = Table("dispute", "disputes.Dispute", beginnings=(
    DisputeStatus.NEEDS_RESPONSE, DisputeStatus.WARNING_NEEDS_RESPONSE,
), changes=(
    StatusChange(
        DisputeStatus.NEEDS_RESPONSE, DisputeStatus.UNDER_REVIEW, UPDATED_EVENT,
        "The merchant submitted evidence.",
    ),
    StatusChange(
        DisputeStatus.NEEDS_RESPONSE, DisputeStatus.WON, CLOSED_EVENT,
        "The bank decided for the merchant; the money is released.",
    ),
    StatusChange(
        DisputeStatus.NEEDS_RESPONSE, DisputeStatus.LOST, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank decided for the cardholder; "
        "the money is gone.",
    ),
    StatusChange(
        DisputeStatus.UNDER_REVIEW, DisputeStatus.WON, CLOSED_EVENT,
        "The bank decided for the merchant; the money is released.",
    ),
    StatusChange(
        DisputeStatus.UNDER_REVIEW, DisputeStatus.LOST, CLOSED_EVENT,
        "The bank decided for the cardholder; the money is gone.",
    ),
    StatusChange(
        DisputeStatus.LOST, DisputeStatus.WON, CLOSED_EVENT,
        "The bank gave the money back after all.",
    ),
    StatusChange(
        DisputeStatus.WON, DisputeStatus.LOST, CLOSED_EVENT,
        "The bank decided for the cardholder after all; the money is gone.",
    ),
    StatusChange(
        DisputeStatus.WARNING_NEEDS_RESPONSE, DisputeStatus.WARNING_UNDER_REVIEW, UPDATED_EVENT,
        "The merchant submitted evidence.",
    ),
    StatusChange(
        DisputeStatus.WARNING_NEEDS_RESPONSE, DisputeStatus.WARNING_CLOSED, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank ended the inquiry.",
    ),
    StatusChange(
        DisputeStatus.WARNING_NEEDS_RESPONSE, DisputeStatus.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back; there is a new due date.",
    ),
    StatusChange(
        DisputeStatus.WARNING_UNDER_REVIEW, DisputeStatus.WARNING_CLOSED, CLOSED_EVENT,
        "The merchant closed it, or its due date passed, or the bank ended the inquiry.",
    ),
    StatusChange(
        DisputeStatus.WARNING_UNDER_REVIEW, DisputeStatus.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back; there is a new due date.",
    ),
    StatusChange(
        DisputeStatus.WARNING_CLOSED, DisputeStatus.NEEDS_RESPONSE, UPDATED_EVENT,
        "The bank charged the payment back after the inquiry had ended; there is a new due date.",
    ),
), meanings={
    DisputeStatus.NEEDS_RESPONSE: "The bank has taken the money back; evidence may win it.",
    DisputeStatus.UNDER_REVIEW: "Evidence was submitted, and the bank decides.",
    DisputeStatus.WON: "The merchant keeps the money.",
    DisputeStatus.LOST: "The cardholder keeps the money.",
    DisputeStatus.WARNING_NEEDS_RESPONSE: "An inquiry: the bank asks, and has taken no money.",
    DisputeStatus.WARNING_UNDER_REVIEW: "An inquiry that was answered.",
    DisputeStatus.WARNING_CLOSED: "An inquiry that ended without a chargeback.",
})  # fmt: skip
DELIVERIES = Table("dispute_delivery", "disputes.DisputeDelivery", beginnings=(
    DeliveryStatus.OWED,
), changes=(
    StatusChange(
        DeliveryStatus.OWED, DeliveryStatus.ACKNOWLEDGED, None,
        "The bank has it.",
    ),
    StatusChange(
        DeliveryStatus.OWED, DeliveryStatus.REFUSED, None,
        "The bank does not take it.",
    ),
    StatusChange(
        DeliveryStatus.OWED, DeliveryStatus.SUPERSEDED, None,
        "The dispute went on or ended before the bank acknowledged it.",
    ),
))  # fmt: skip
