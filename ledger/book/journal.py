"""The journal: the one writer of movements and entries, and how movements of a cause follow.

Only the functions of the book write through it (an import contract in pyproject.toml).
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from django.db import connection

from core import ids, local_days, rows
from ledger import balance, lines
from ledger.balance import Funds
from ledger.events import NEGATIVE_LIMIT_EXCEEDED
from ledger.lines import BALANCE, Line
from ledger.models import Account, LedgerEntry, Movement
from ledger.models.accounts import account_id
from merchants.models import Merchant

Type = Movement.Type
# A kind without a type never changes the balance.
TYPES: dict[str, Movement.Type] = {
    Movement.Kind.CHARGE: Type.CHARGE,
    Movement.Kind.REFUND: Type.REFUND,
    Movement.Kind.VOID: Type.REFUND,
    Movement.Kind.REFUND_RETURNED: Type.REFUND_FAILURE,
    Movement.Kind.REFUND_BOUNCED: Type.REFUND_FAILURE,
    Movement.Kind.VOID_UNDONE: Type.REFUND_FAILURE,
    Movement.Kind.DISPUTE_OPENED: Type.DISPUTE,
    Movement.Kind.DISPUTE_WON: Type.DISPUTE_REVERSAL,
    Movement.Kind.DISPUTE_REGAINED: Type.DISPUTE_REVERSAL,
    Movement.Kind.PAYOUT: Type.PAYOUT,
    Movement.Kind.PAYOUT_RETURNED: Type.PAYOUT_FAILURE,
    Movement.Kind.PAYOUT_BOUNCED: Type.PAYOUT_FAILURE,
    Movement.Kind.TOPUP: Type.TOPUP,
    Movement.Kind.TOPUP_REVERSED: Type.TOPUP_REVERSAL,
    Movement.Kind.WRITE_OFF: Type.ADJUSTMENT,
}


class OutOfTurn(Exception):
    """A bug: money moves for a cause that is not there yet, or has ended otherwise."""


def write(movement: Movement, drafted: Iterable[Line]) -> Movement:
    """Write a movement down with its lines, in the caller's transaction; lines of 0 are left out.

    :param movement: unsaved; its id, its date, and its amounts but for the surcharge's come from
        its lines. A dispute has a share of the surcharge that only its loss moves. Its type comes
        from its kind, and its source is its cause, unless it says otherwise.
    :raises RuntimeError: no transaction is open.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("money moves in the transaction of its cause")
    written = [line for line in drafted if line.amount]
    movement.id = ids.new("txn")
    movement.net = lines.total(written, *BALANCE)
    movement.fee = lines.total(written, Account.Kind.FEES)
    movement.amount = movement.net + movement.fee
    movement.type = movement.type or TYPES.get(movement.kind) if movement.net else None
    movement.source_id = movement.source_id or movement.cause_id
    movement.available_on = _date_of(movement, written)
    # Before the entries: it gives the transaction its number in the database, and settlement waits
    # for every transaction that may have entries with earlier ids by that number.
    rows.insert(movement)
    if written:
        rows.insert_all([_entry(movement, line) for line in written])
    return movement


def take(movement: Movement, drafted: Sequence[Line], funds: Funds) -> Movement:
    """Write a movement that takes from a merchant whose account the caller has locked.

    Records an event if `available` falls below its limit; once, until it is back (contract 8).

    :param funds: as they were once the account was locked.
    """
    write(movement, drafted)
    if funds.would_cross_limit(-lines.total(drafted, Account.Kind.AVAILABLE)):
        balance.tell(NEGATIVE_LIMIT_EXCEEDED, movement, drafted)
    return movement


def undo(last: Movement, kind: Movement.Kind, *, now: datetime) -> Movement:
    """Write the opposite of a movement and of what it follows: the money is where it was.

    The same lines come back, dates included.
    """
    return write(undone(last, kind, now=now), undoing(last))


def undone(last: Movement, kind: Movement.Kind, *, now: datetime) -> Movement:
    """Return the draft of the opposite of a movement and of what it follows."""
    movement = follow(last, kind, now=now)
    movement.surcharge = -sum(one.surcharge for one in _chain(last))
    return movement


def undoing(last: Movement, but: Iterable[Line] = ()) -> list[Line]:
    """Return the opposite of the lines of a movement and of what it follows.

    :param but: lines that are undone too, as if they were among them.
    """
    entries = LedgerEntry.objects.filter(merchant_id=last.merchant_id, movement__in=_chain(last))
    written = lines.of_entries(entries.select_related("account").order_by("id"))
    return lines.opposite([*written, *but])


def follow(last: Movement, kind: Movement.Kind, *, now: datetime) -> Movement:
    """Return the draft of a movement that follows another one of its cause."""
    return Movement(
        merchant_id=last.merchant_id,
        kind=kind,
        cause_id=last.cause_id,
        follows=last,
        charge_id=last.charge_id,
        currency=last.currency,
        created_at=now,
    )


def last_of(merchant_id: str, cause_id: str, *kinds: Movement.Kind) -> Movement:
    """Return the movement of a cause that none follows so far.

    :raises OutOfTurn: it is of none of these kinds.
    """
    movements = Movement.objects.filter(merchant_id=merchant_id, cause_id=cause_id)
    last = movements.filter(kind__in=kinds, followed_by=None).select_related("follows").first()
    if last is None:
        raise OutOfTurn(f"{cause_id} has no last movement of {', '.join(kinds)}")
    return last


def _chain(last: Movement) -> list[Movement]:
    """Return the movements of one going back so far, the last one first."""
    if last.follows is None or last.follows.is_released:
        return [last]
    return [last, last.follows]


def _date_of(movement: Movement, written: Iterable[Line]) -> date | None:
    """Return from which day on the movement counts as available; None if it changes no balance."""
    last = max((line.available_on for line in written if line.available_on), default=None)
    return last or (_today(movement) if movement.type else None)


def _today(movement: Movement) -> date:
    timezone = Merchant.objects.values_list("timezone", flat=True).get(id=movement.merchant_id)
    return local_days.of(movement.created_at, timezone)


def _entry(movement: Movement, line: Line) -> LedgerEntry:
    return LedgerEntry(
        merchant_id=movement.merchant_id,
        movement=movement,
        account_id=account_id(movement.merchant_id, movement.currency, line.kind),
        currency=movement.currency,
        amount=line.amount,
        available_on=line.available_on,
    )
