"""The states of a payout, and which change emits which event (contract-money, Payout)."""

from django.db import models

from events.transitions import StatusChange, Table


class PayoutStatus(models.TextChoices):
    """`payout.status`."""

    PENDING = "pending"
    IN_TRANSIT = "in_transit"
    PAID = "paid"
    FAILED = "failed"
    CANCELED = "canceled"


class FailureCode(models.TextChoices):
    """`payout.failure_code`."""

    ACCOUNT_CLOSED = "account_closed"
    NO_ACCOUNT = "no_account"
    INCORRECT_HOLDER = "incorrect_account_holder_name"
    ACCOUNT_RESTRICTED = "bank_account_restricted"
    DECLINED = "declined"
    COULD_NOT_PROCESS = "could_not_process"


# `payout.failure_message`: in words for the merchant.
MESSAGES = {
    FailureCode.ACCOUNT_CLOSED: "The account has been closed.",
    FailureCode.NO_ACCOUNT: "There is no such account.",
    FailureCode.INCORRECT_HOLDER: "The account belongs to another holder than the one given.",
    FailureCode.ACCOUNT_RESTRICTED: "The account takes no transfers at the moment.",
    FailureCode.DECLINED: "The bank declined the transfer.",
    FailureCode.COULD_NOT_PROCESS: "The bank could not process the transfer.",
}

CREATED = "payout.created"
PAID = "payout.paid"
FAILED = "payout.failed"

# Every allowed change of status, with its event. The database's trigger knows the same pairs
# (migration 0002), and docs/reference/states.md is made from this table.
PAYOUTS = Table("payout", "payouts.Payout", beginnings=(PayoutStatus.PENDING,), changes=(
    StatusChange(
        PayoutStatus.PENDING, PayoutStatus.IN_TRANSIT, None,
        "It is sent to the bank, 60 seconds after you created it at the earliest.",
    ),
    StatusChange(
        PayoutStatus.PENDING, PayoutStatus.CANCELED, None,
        "You canceled it before it was sent.",
    ),
    StatusChange(
        PayoutStatus.IN_TRANSIT, PayoutStatus.PAID, PAID,
        "The bank says that the money has arrived.",
    ),
    StatusChange(
        PayoutStatus.IN_TRANSIT, PayoutStatus.FAILED, FAILED,
        "The bank could not transfer it: the money is available again.",
    ),
    StatusChange(
        PayoutStatus.PAID, PayoutStatus.FAILED, FAILED,
        "The account's bank sent the money back: it is available again.",
    ),
), meanings={
    PayoutStatus.PENDING: "Taken from `available`, and not sent yet: it can be canceled.",
    PayoutStatus.IN_TRANSIT: "It may be at the bank, which has not said how it ended.",
    PayoutStatus.PAID: "The money has arrived. It may still come back.",
    PayoutStatus.FAILED: "The money did not arrive, or came back: see `failure_code`.",
    PayoutStatus.CANCELED: "Canceled before it was sent.",
})  # fmt: skip
