"""The states of a merchant's account, and the event of each change (contract-money, Merchant)."""

from django.db import models

from events.transitions import StatusChange, Table
from events.types import Aggregate, Meaning

UPDATED = "merchant.updated"
AGGREGATE = Aggregate(
    "merchant",
    (UPDATED,),
    scope="merchant",
    schemas=("Merchant",),
    meanings={
        UPDATED: Meaning(
            cause=(
                "Your account's record changed: an operator changed its status or terms, or your "
                "team its websites, callback URLs, schedule or metadata."
            ),
            previous="The changed fields.",
        ),
    },
)


class MerchantStatus(models.TextChoices):
    """`merchant.status`."""

    PENDING = "pending"
    ACTIVE = "active"
    RESTRICTED = "restricted"
    CLOSED = "closed"


_Is = MerchantStatus
# Every allowed change of status. The database's trigger knows the same pairs (migration 0002),
# and docs/reference/states.md is made from this table. An approval is given once, and closing is
# final: who comes back opens another account.
MERCHANTS = Table("merchant", "merchants.Merchant", beginnings=(_Is.PENDING, _Is.ACTIVE),
    changes=(
    StatusChange(_Is.PENDING, _Is.ACTIVE, UPDATED, "The account was approved."),
    StatusChange(_Is.PENDING, _Is.CLOSED, UPDATED, "The account was not approved."),
    StatusChange(_Is.ACTIVE, _Is.RESTRICTED, UPDATED, "An operator stopped it for a while."),
    StatusChange(_Is.ACTIVE, _Is.CLOSED, UPDATED, "An operator closed it."),
    StatusChange(_Is.RESTRICTED, _Is.ACTIVE, UPDATED, "An operator let it go on."),
    StatusChange(_Is.RESTRICTED, _Is.CLOSED, UPDATED, "An operator closed it."),
), meanings={
    _Is.PENDING: "Not approved yet: no payments, no payouts.",
    _Is.ACTIVE: "Takes payments, and gets payouts, unless an operator has switched either off: "
    "`charges_enabled` and `payouts_enabled` say so. In every other status both are false.",
    _Is.RESTRICTED: "Stopped: no new payments, no payouts. Authorised payments may be captured.",
    _Is.CLOSED: "For good: nothing new, and no captures.",
})  # fmt: skip
