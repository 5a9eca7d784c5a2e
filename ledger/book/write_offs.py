"""Write-offs: an operator gives up what a merchant owes."""

from datetime import datetime

from ledger import accounts, balance
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement


class NotOwed(Exception):
    """More is to be written off than the merchant owes.

    :param owed: as much as `available` is below zero, in minor units; 0 if it is not.
    """

    def __init__(self, owed: int) -> None:
        super().__init__(owed)
        self.owed = owed


def write_off(
    merchant_id: str, *, amount: int, currency: str, cause_id: str, now: datetime
) -> Movement:
    """Bring an `available` below zero nearer to zero, or to it.

    :param amount: above 0.
    :param cause_id: the operator's act.
    :raises NotOwed: the merchant owes less.
    """
    accounts.lock(merchant_id, currency)
    owed = balance.funds(merchant_id, currency).owed
    if amount > owed:
        raise NotOwed(owed)
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.WRITE_OFF,
        cause_id=cause_id,
        currency=currency,
        created_at=now,
    )
    lines = [Line(Account.Kind.LOSSES, -amount), Line(Account.Kind.AVAILABLE, amount)]
    return journal.write(movement, lines)
