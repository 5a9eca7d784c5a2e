"""The marks of an object in the balance: its transactions, and what a payment brought in all."""

from typing import Any, NamedTuple

from django.http import QueryDict

from ledger import transactions
from ledger.filters import TRANSACTIONS
from ledger.models import Movement, Run
from merchants.models import Member
from panel import permissions
from panel.merchants import balance_words, details, listing
from payments.intents.models import PaymentIntent


class Brought(NamedTuple):
    """A payment's part of the balance, in minor units.

    :param fee: of the charge; below zero what a refund returned of it is in `back`.
    :param back: what went back by refunds and disputes, and came again; below zero.
    :param settlements: the runs that made parts of it available.
    """

    amount: int
    fee: int
    net: int
    back: int
    settlements: list[Run]

    @property
    def left(self) -> int:
        return self.net + self.back

    @property
    def given_fee(self) -> int:
        return -self.fee


def parts(member: Member, object_id: str) -> dict[str, Any]:
    """Return the balance transactions of an object, and its events for those who may see them."""
    rows = transactions.of_merchant(member.merchant)
    found = listing.page(rows, QueryDict(f"source={object_id}"), TRANSACTIONS).rows
    moved = transactions.shown(found, member.merchant)
    for row, movement in zip(moved, found, strict=True):
        word = balance_words.TYPES.get(row["type"], row["type"])
        standing = "pending_funds" if row["status"] == "pending" else row["status"]
        row |= {"word": word, "created_at": movement.created_at, "standing": standing}
    return {"transactions": moved, "told": details.events(member, object_id)}


def brought(member: Member, payment: PaymentIntent) -> Brought | None:
    """Return what a payment brought; None if it was not charged, or the member may not see it."""
    if not payment.captured_minor or not permissions.may_open(member, "balance"):
        return None
    rows = list(transactions.of_charges(member.merchant, payment.attempt_ids))
    charges = [row for row in rows if row.type == Movement.Type.CHARGE]
    if not charges:
        return None
    net = sum(row.net for row in charges)
    return Brought(
        amount=sum(row.amount for row in charges),
        fee=sum(row.fee for row in charges),
        net=net,
        back=sum(row.net for row in rows) - net,
        settlements=transactions.settlements_of(rows),
    )
