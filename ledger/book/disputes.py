"""Disputes: money of a charge that the cardholder's bank wants back."""

from datetime import datetime

from ledger import charges
from ledger.book import journal
from ledger.book.coming_back import come_back
from ledger.lines import Line
from ledger.models import Account, Movement


def dispute_opened(
    merchant_id: str, *, amount: int, charge_id: str, cause_id: str, now: datetime
) -> Movement:
    """Hold back the merchant's part of disputed money; it may take `available` below zero.

    The surcharge's part stays where it is until the dispute is lost. The fee is kept.

    :param charge_id: the attempt that was charged; the caller has locked its payment.
    """
    charge = charges.locked(merchant_id, charge_id)
    shares = charge.shares_of(amount, with_fee=False)
    held = [*charge.taken_from_merchant(shares), Line(Account.Kind.RESERVED, shares.merchants)]
    movement = charge.draft(Movement.Kind.DISPUTE_OPENED, shares, cause_id=cause_id, now=now)
    return journal.take(movement, held, charge.funds)


def dispute_won(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Release what was held back."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.DISPUTE_OPENED)
    return come_back(last, Movement.Kind.DISPUTE_WON, now=now)


def dispute_lost(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Let the bank have what was held back, and the surcharge's part with it.

    What was released because the dispute had been won is taken again, as an opening does; it may
    take `available` below zero.

    :raises OutOfTurn: it was lost before. A dispute's money goes to the bank once.
    """
    kinds = Movement.Kind.DISPUTE_OPENED, Movement.Kind.DISPUTE_WON
    last = journal.last_of(merchant_id, cause_id, *kinds)
    if last.kind == Movement.Kind.DISPUTE_WON:
        return _taken_after_all(last, now)
    lost = [
        Line(Account.Kind.RESERVED, last.amount),
        Line(Account.Kind.SURCHARGE, last.surcharge),
        Line(Account.Kind.ACQUIRER, -last.card_money),
    ]
    return journal.write(journal.follow(last, Movement.Kind.DISPUTE_LOST, now=now), lost)


def dispute_regained(cause_id: str, *, merchant_id: str, now: datetime) -> Movement:
    """Give back what a lost dispute had taken: the bank decided for the merchant after all."""
    last = journal.last_of(merchant_id, cause_id, Movement.Kind.DISPUTE_LOST)
    return come_back(last, Movement.Kind.DISPUTE_REGAINED, now=now)


def _taken_after_all(won: Movement, now: datetime) -> Movement:
    charge = charges.locked(won.merchant_id, str(won.charge_id))
    shares = charge.shares_of(won.card_money, with_fee=False)
    lost = [
        *charge.taken_from_merchant(shares),
        Line(Account.Kind.SURCHARGE, -shares.surcharge),
        Line(Account.Kind.ACQUIRER, shares.amount),
    ]
    kind = Movement.Kind.DISPUTE_LOST
    movement = charge.draft(kind, shares, cause_id=won.cause_id, now=now)
    movement.follows, movement.type = won, Movement.Type.DISPUTE
    return journal.take(movement, lost, charge.funds)
