"""Payouts: money that leaves for the merchant's account at a bank."""

from datetime import datetime

from ledger import accounts, balance
from ledger.balance import InsufficientFunds
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement


def payout(
    merchant_id: str, *, amount: int, currency: str, cause_id: str, now: datetime
) -> Movement:
    """Take a payout from `available`.

    :raises InsufficientFunds: there is less; nothing is written, and the account stays locked.
    """
    accounts.lock(merchant_id, currency)
    funds = balance.funds(merchant_id, currency)
    if amount > funds.available:
        raise InsufficientFunds
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.PAYOUT,
        cause_id=cause_id,
        currency=currency,
        created_at=now,
    )
    lines = [Line(Account.Kind.AVAILABLE, -amount), Line(Account.Kind.PAYOUTS, amount)]
    return journal.take(movement, lines, funds)


def payout_paid(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Record that the money has arrived."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.PAYOUT)
    paid = [
        Line(Account.Kind.PAYOUTS, last.amount),
        Line(Account.Kind.TRANSFERS, -last.amount),
    ]
    return journal.write(journal.follow(last, Movement.Kind.PAYOUT_PAID, now=now), paid)


def payout_returned(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give the money of a payout back to the merchant: it failed."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.PAYOUT)
    return journal.undo(last, Movement.Kind.PAYOUT_RETURNED, now=now)


def payout_canceled(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give the money of a payout back to the merchant: it was canceled before it was sent."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.PAYOUT)
    returned = journal.follow(last, Movement.Kind.PAYOUT_RETURNED, now=now)
    returned.type = Movement.Type.PAYOUT_CANCEL
    return journal.write(returned, journal.undoing(last))


def payout_bounced(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give the money of a paid payout back to the merchant: the bank sent it back."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.PAYOUT_PAID)
    return journal.undo(last, Movement.Kind.PAYOUT_BOUNCED, now=now)
