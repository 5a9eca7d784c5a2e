"""Charges: what cards were debited with."""

from collections.abc import Sequence
from datetime import date, datetime

from ledger import parts, pricing
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement
from ledger.pricing import Sale


def charge(
    merchant_id: str, sale: Sale, *, cause_id: str, available_on: Sequence[date], now: datetime
) -> Movement:
    """Record a sale: pending for the merchant, less the fee by the prices of this moment.

    Takes no lock: two charges of a merchant never wait for each other.

    :param cause_id: the attempt; a second charge of it is refused by the database.
    :param available_on: the dates of its parts, in the merchant's timezone.
    """
    fee = pricing.fee_of(merchant_id, sale)
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.CHARGE,
        cause_id=cause_id,
        source_id=sale.source_id,
        charge_id=cause_id,
        currency=sale.currency,
        surcharge=sale.surcharge,
        returns_fee=fee.is_returned,
        created_at=now,
    )
    lines = [
        Line(Account.Kind.ACQUIRER, -sale.amount),
        *parts.split(sale.received - fee.amount, available_on),
        Line(Account.Kind.FEES, fee.amount),
        Line(Account.Kind.SURCHARGE, sale.surcharge),
    ]
    return journal.write(movement, lines)
