"""Refunds and voids: money of a charge that goes back to the card because the merchant wants it."""

from datetime import datetime

from ledger import charges
from ledger.balance import InsufficientFunds
from ledger.book import journal
from ledger.book.coming_back import come_back
from ledger.charges import Charge, Shares
from ledger.lines import Line
from ledger.models import Account, Movement

TAKEN = (Movement.Kind.REFUND, Movement.Kind.VOID)


def refund(
    merchant_id: str, *, amount: int, charge_id: str, cause_id: str, now: datetime
) -> Movement:
    """Take a part of a charge from the merchant, on its way to the card.

    The fee is kept, unless the price of the charge returns it.

    :param charge_id: the attempt that was charged; the caller has locked its payment.
    :raises InsufficientFunds: `available` and `pending` would be below the limit; nothing is
        written, and the account stays locked.
    """
    charge = charges.locked(merchant_id, charge_id)
    shares = charge.shares_of(amount, with_fee=charge.movement.returns_fee)
    if not charge.funds.allow(shares.merchants):
        raise InsufficientFunds
    return _refunded(charge, shares, cause_id=cause_id, now=now)


def refund_that_left(
    merchant_id: str, *, amount: int, charge_id: str, cause_id: str, now: datetime
) -> Movement:
    """Take a part of a charge that the bank has given back already, whatever the funds.

    :param charge_id: the attempt that was charged; the caller has locked its payment.
    """
    charge = charges.locked(merchant_id, charge_id)
    shares = charge.shares_of(amount, with_fee=charge.movement.returns_fee)
    return _refunded(charge, shares, cause_id=cause_id, now=now)


def void(
    merchant_id: str, *, amount: int, charge_id: str, cause_id: str, now: datetime
) -> Movement:
    """Take a whole charge back before the bank's day ends: all of its fee comes back.

    It never asks for funds: the money has not left the bank.
    """
    charge = charges.locked(merchant_id, charge_id)
    shares = charge.shares_of(amount, with_fee=True)
    movement = charge.draft(Movement.Kind.VOID, shares, cause_id=cause_id, now=now)
    return journal.take(movement, _lines(charge, shares), charge.funds)


def void_undone(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give a void's money back to the merchant: it came too late, and becomes a refund."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.VOID)
    return come_back(last, Movement.Kind.VOID_UNDONE, now=now)


def refund_paid(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Record that the bank has given the money of a refund, or of a void, to the card."""
    last = journal.last_of(merchant_id, cause_id, *TAKEN)
    paid = [
        Line(Account.Kind.REFUNDS, last.card_money),
        Line(Account.Kind.ACQUIRER, -last.card_money),
    ]
    return journal.write(journal.follow(last, Movement.Kind.REFUND_PAID, now=now), paid)


def refund_returned(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give the money of a refund or a void back to the merchant: it failed, or was canceled."""
    last = journal.last_of(merchant_id, cause_id, *TAKEN)
    return come_back(last, Movement.Kind.REFUND_RETURNED, now=now)


def refund_bounced(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give the money of a paid refund back to the merchant: the card's bank sent it back.

    A part whose date is past is settled by the next run.
    """
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.REFUND_PAID)
    return come_back(last, Movement.Kind.REFUND_BOUNCED, now=now)


def _refunded(charge: Charge, shares: Shares, *, cause_id: str, now: datetime) -> Movement:
    movement = charge.draft(Movement.Kind.REFUND, shares, cause_id=cause_id, now=now)
    return journal.take(movement, _lines(charge, shares), charge.funds)


def _lines(charge: Charge, shares: Shares) -> list[Line]:
    return [
        *charge.taken_from_merchant(shares),
        Line(Account.Kind.SURCHARGE, -shares.surcharge),
        Line(Account.Kind.FEES, -shares.fee),
        Line(Account.Kind.REFUNDS, shares.amount),
    ]
