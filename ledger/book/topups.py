"""Topups: money that the merchant sends us, to be available."""

from datetime import datetime

from ledger import accounts, balance
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement


def topup(
    merchant_id: str, *, amount: int, currency: str, cause_id: str, now: datetime
) -> Movement:
    """Record that the money of a topup has arrived."""
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.TOPUP,
        cause_id=cause_id,
        currency=currency,
        created_at=now,
    )
    lines = [Line(Account.Kind.TRANSFERS, -amount), Line(Account.Kind.AVAILABLE, amount)]
    return journal.write(movement, lines)


def topup_reversed(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Take the money of a topup back; it may take `available` below zero."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.TOPUP)
    accounts.lock(merchant_id, last.currency)
    funds = balance.funds(merchant_id, last.currency)
    movement = journal.follow(last, Movement.Kind.TOPUP_REVERSED, now=now)
    return journal.take(movement, journal.undoing(last), funds)
