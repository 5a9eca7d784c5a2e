"""The states of a topup and of the transfers that come in, and which change emits which event."""

from django.db import models

from events.transitions import StatusChange, Table


class TopupStatus(models.TextChoices):
    """`topup.status`."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    REVERSED = "reversed"


class FailureCode(models.TextChoices):
    """`topup.failure_code`."""

    COULD_NOT_PROCESS = "could_not_process"


# `topup.failure_message`: in words for the merchant.
MESSAGES = {FailureCode.COULD_NOT_PROCESS: "The bank could not process the transfer."}


class Initiator(models.TextChoices):
    """`topup.initiated_by`."""

    MERCHANT = "merchant"
    OPERATOR = "operator"


class Arrival(models.TextChoices):
    """The status of a transfer that came in."""

    MATCHED = "matched"
    UNMATCHED = "unmatched"
    ASSIGNED = "assigned"
    SENT_BACK = "sent_back"
    REVERSED = "reversed"


SUCCEEDED = "topup.succeeded"
UPDATED = "topup.updated"

# Every allowed change of status, with its event. The database's trigger knows the same pairs
# (migration 0002), and docs/reference/states.md is made from this table.
TOPUPS = Table("topup", "topups.Topup", beginnings=(TopupStatus.PENDING,), changes=(
    StatusChange(
        TopupStatus.PENDING, TopupStatus.SUCCEEDED, SUCCEEDED,
        "The bank has reported a transfer with its reference, amount and currency.",
    ),
    StatusChange(
        TopupStatus.PENDING, TopupStatus.FAILED, UPDATED,
        "The bank could not process the transfer.",
    ),
    StatusChange(
        TopupStatus.PENDING, TopupStatus.CANCELED, UPDATED,
        "You canceled it before the transfer came.",
    ),
    StatusChange(
        TopupStatus.SUCCEEDED, TopupStatus.REVERSED, UPDATED,
        "The bank has taken the transfer back: the money is not available any more.",
    ),
), meanings={
    TopupStatus.PENDING: "The transfer has not come yet: it can be canceled.",
    TopupStatus.SUCCEEDED: "The money is available.",
    TopupStatus.FAILED: "The transfer did not come: see `failure_code`.",
    TopupStatus.CANCELED: "Canceled before the transfer came.",
    TopupStatus.REVERSED: "The money was available, and the bank has taken the transfer back.",
})  # fmt: skip

ARRIVALS = Table(
    "incoming_transfer", "topups.IncomingTransfer",
    beginnings=(Arrival.MATCHED, Arrival.UNMATCHED), changes=(
    StatusChange(
        Arrival.UNMATCHED, Arrival.ASSIGNED, None,
        "An operator has found out whose it is.",
    ),
    StatusChange(
        Arrival.UNMATCHED, Arrival.SENT_BACK, None,
        "An operator has noted that it was sent back.",
    ),
    *(
        StatusChange(before, Arrival.REVERSED, None, "The bank has taken it back.")
        for before in (Arrival.UNMATCHED, Arrival.MATCHED, Arrival.ASSIGNED, Arrival.SENT_BACK)
    ),
), meanings={
    Arrival.MATCHED: "A topup was waiting for it, and has succeeded.",
    Arrival.UNMATCHED: "No topup waits for it: an operator decides. Nothing is booked.",
    Arrival.ASSIGNED: "An operator let a topup succeed with it.",
    Arrival.SENT_BACK: "An operator had it sent back. Nothing is booked.",
    Arrival.REVERSED: "The bank has taken it back. Nothing of it is booked any more.",
})  # fmt: skip
