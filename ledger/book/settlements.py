"""Settlements: parts of charges whose date has come become available."""

from collections.abc import Mapping
from datetime import date, datetime

from ledger import balance
from ledger.book import journal
from ledger.events import AVAILABLE
from ledger.lines import Line
from ledger.models import Account, Movement


def settlement(
    merchant_id: str, parts: Mapping[date, int], *, currency: str, cause_id: str, now: datetime
) -> Movement:
    """Move what is pending to `available`, with an event; the caller has locked the account.

    :param parts: the unsettled sums by their dates.
    :param cause_id: the run.
    """
    movement = Movement(
        merchant_id=merchant_id,
        kind=Movement.Kind.SETTLEMENT,
        cause_id=cause_id,
        currency=currency,
        created_at=now,
    )
    lines = [Line(Account.Kind.PENDING, -amount, day) for day, amount in sorted(parts.items())]
    lines.append(Line(Account.Kind.AVAILABLE, sum(parts.values())))
    journal.write(movement, lines)
    balance.tell(AVAILABLE, movement, lines)
    return movement
