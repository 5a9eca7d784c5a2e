"""Charges: what cards were debited with."""

from datetime import date, datetime

from ledger import parts, sale_terms
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement
from ledger.pricing import Sale


def charge(
    merchant_id: str, sale: Sale, *, cause_id: str, captured_on: date, now: datetime
) -> Movement:
    """Record a sale: pending for the merchant, less the fee.

    Its fee and its dates are by the terms of this moment; later changes concern later charges.

    Takes no lock: two charges of a merchant never wait for each other.

    :param cause_id: the attempt; a second charge of it is refused by the database.
    :param captured_on: the date of the capture, in the merchant's timezone.
    """
    terms = sale_terms.of(merchant_id, sale, captured_on=captured_on)
    fee = terms.fee
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
        *parts.split(sale.received - fee.amount, terms.value_dates(captured_on)),
        Line(Account.Kind.FEES, fee.amount),
        Line(Account.Kind.SURCHARGE, sale.surcharge),
    ]
    return journal.write(movement, lines)
