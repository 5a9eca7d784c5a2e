"""A payment in the books: fee, net, the day of availability, and the settlements of its charge."""

from collections.abc import Sequence
from typing import Any

from core import clock, local_days
from ledger import transactions
from ledger.models import Movement
from merchants.models import Member
from payments.intents.models import PaymentIntent


def of(member: Member, payments: Sequence[PaymentIntent]) -> dict[str, dict[str, Any]]:
    """Return by a payment's id what its charge brought, in two statements for all of them.

    Amounts are in minor units. A payment that was not charged has no entry.
    """
    charges = list(
        transactions.of_merchant(member.merchant).filter(
            source_id__in=[row.id for row in payments], type=Movement.Type.CHARGE
        )
    )
    settled = transactions.settlements(charges)
    found: dict[str, dict[str, Any]] = {}
    for one in sorted(charges, key=lambda charge: charge.id):
        book = found.setdefault(one.source_id, {"fee": 0, "net": 0, "settlements": ""})
        book["fee"] += one.fee
        book["net"] += one.net
        book["settlements"] = " ".join([book["settlements"], *settled.get(one.id, [])]).strip()
        if one.available_on:
            day = local_days.begins(one.available_on, member.merchant.timezone)
            book["available_on"] = clock.unix(day)
    return found
