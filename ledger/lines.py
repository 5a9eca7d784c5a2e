"""Lines of a movement, before they are written."""

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from ledger.models import Account, LedgerEntry

# The money that a merchant can count on: what a balance transaction changes.
BALANCE = (Account.Kind.PENDING, Account.Kind.AVAILABLE)


class Line(NamedTuple):
    """An amount in minor units for one account; a pending one with the date that settles it."""

    kind: str
    amount: int
    available_on: date | None = None


def of_entries(entries: Iterable[LedgerEntry]) -> list[Line]:
    """Return entries of the journal as the lines that they were; they come with their accounts."""
    return [Line(entry.account.kind, entry.amount, entry.available_on) for entry in entries]


def opposite(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that undo these; what cancels out among them is left out."""
    sums: dict[tuple[str, date | None], int] = {}
    for kind, amount, day in lines:
        sums[kind, day] = sums.get((kind, day), 0) - amount
    return [Line(kind, amount, day) for (kind, day), amount in sums.items() if amount]


def total(lines: Iterable[Line], *kinds: str) -> int:
    """Return the sum of the lines of these kinds of accounts, in minor units."""
    return sum(line.amount for line in lines if line.kind in kinds)
