"""Write-offs: an operator gives up what a merchant owes."""

from datetime import datetime

from ledger import accounts, balance
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement


class NothingToWriteOff(Exception):
    """The merchant owes nothing: `available` is not below zero."""


def write_off(merchant_id: str, *, currency: str, cause_id: str, now: datetime) -> Movement:
    """Bring an `available` below zero to zero.

    :param cause_id: the operator's act.
    :raises NothingToWriteOff: the merchant owes nothing.
    """
    accounts.lock(merchant_id, currency)
    owed = -balance.funds(merchant_id, currency).available
    if owed <= 0:
        raise NothingToWriteOff
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.WRITE_OFF,
        cause_id=cause_id,
        currency=currency,
        created_at=now,
    )
    lines = [Line(Account.Kind.LOSSES, -owed), Line(Account.Kind.AVAILABLE, owed)]
    return journal.write(movement, lines)
