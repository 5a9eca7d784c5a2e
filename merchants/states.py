"""The states of a merchant's account, and the event of each change (contract-money, Merchant)."""

from django.db import models

from events.transitions import Change, Table
from events.types import Aggregate

UPDATED = "merchant.updated"
AGGREGATE = Aggregate("merchant", (UPDATED,), scope="merchant", schemas=("Merchant",))


class Status(models.TextChoices):
    """`merchant.status`."""

    PENDING = "pending"
    ACTIVE = "active"
    RESTRICTED = "restricted"
    CLOSED = "closed"


# Every allowed change of status. The database's trigger knows the same pairs (migration 0002),
# and docs/states.md is made from this table. An approval is given once, and closing is final: who
# comes back opens another account.
MERCHANTS = Table("merchant", "merchants.Merchant", beginnings=(Status.PENDING, Status.ACTIVE),
    changes=(
    Change(Status.PENDING, Status.ACTIVE, UPDATED, "The account was approved."),
    Change(Status.PENDING, Status.CLOSED, UPDATED, "The account was not approved."),
    Change(Status.ACTIVE, Status.RESTRICTED, UPDATED, "An operator stopped it for a while."),
    Change(Status.ACTIVE, Status.CLOSED, UPDATED, "An operator closed it."),
    Change(Status.RESTRICTED, Status.ACTIVE, UPDATED, "An operator let it go on."),
    Change(Status.RESTRICTED, Status.CLOSED, UPDATED, "An operator closed it."),
), meanings={
    Status.PENDING: "Not approved yet: no payments, no payouts.",
    Status.ACTIVE: "Takes payments, and gets payouts, unless an operator has switched either off: "
    "`charges_enabled` and `payouts_enabled` say so. In every other status both are false.",
    Status.RESTRICTED: "Stopped: no new payments, no payouts. What was authorised may be captured.",
    Status.CLOSED: "For good: nothing new, and no captures.",
})  # fmt: skip
