"""Differences opened, closed by a later file that agrees, and closed by an operator."""

from datetime import date
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction

from acquirers.models import Terminal
from audit.reconciliation.comparing import NO_DIFFERENCE
from audit.reconciliation.models import Difference
from audit.reconciliation.of_terminals import is_covered, is_same
from cases import cases
from core import clock, ids
from core.errors import DomainError
from merchants import audit_log
from merchants.models import Merchant, User

CHUNK = 1000
SAME = is_same("d.terminal_id", "f.terminal")
COVERED = is_covered("d.terminal_id")
# Open already, or the very same was closed by a person: the newest one of its kind tells.
TO_OPEN = f"""
    SELECT f.position, f.verdict, f.type, f.reference, f.day, m.id, f.terminal, f.bank::text,
           f.ours::text
    FROM reconciled_otherwise f
    LEFT JOIN merchants_merchant m ON m.id = f.merchant
    LEFT JOIN LATERAL (
        SELECT d.closed_at, d.closed_by_id, d.bank, d.ours FROM reconciliation_difference d
        WHERE (d.type, d.reference, d.kind) = (f.type, f.reference, f.verdict) AND {SAME}
        ORDER BY d.closed_at DESC NULLS FIRST, d.id DESC LIMIT 1
    ) newest ON true
    WHERE f.position > %(after)s AND NOT f.verdict = ANY(%(no_difference)s)
      AND (newest.bank IS NULL AND newest.ours IS NULL
           OR newest.closed_at IS NOT NULL
              AND (newest.closed_by_id IS NULL
                   OR (newest.bank, newest.ours) IS DISTINCT FROM (f.bank, f.ours)))
    ORDER BY f.position LIMIT %(chunk)s
"""  # noqa: S608
FOLLOW = f"""
    UPDATE reconciliation_difference d SET bank = f.bank, ours = f.ours, day = f.day
    FROM reconciled_otherwise f
    WHERE d.closed_at IS NULL AND (d.type, d.reference, d.kind) = (f.type, f.reference, f.verdict)
      AND {SAME} AND (d.bank, d.ours, d.day) IS DISTINCT FROM (f.bank, f.ours, f.day)
"""  # noqa: S608
# One that a restored copy lacks has no day of the bank's.
# The file has the booking, or speaks for its day; that a line is there once, only its file tells.
AGREED = f"""
    UPDATE reconciliation_difference d SET closed_at = %(now)s
    WHERE d.closed_at IS NULL
      AND NOT EXISTS (
          SELECT FROM reconciled_otherwise f
          WHERE (f.type, f.reference, f.verdict) = (d.type, d.reference, d.kind) AND {SAME}
      )
      AND (d.day = ANY(%(covered)s) AND {COVERED} AND d.bank -> 'undated' IS NULL
           OR d.kind <> 'twice' AND EXISTS (
               SELECT FROM reconciled_line l
               WHERE l.type = d.type AND d.reference IN (l.reference, l.told)
                 AND {is_same("d.terminal_id", "l.terminal")}
           ))
"""  # noqa: S608
FORGET_LINES = f"""
    DELETE FROM reconciliation_keptline k
    WHERE k.day = ANY(%(covered)s) AND {is_covered("k.terminal_id")} OR EXISTS (
        SELECT FROM reconciled_line l
        WHERE (l.type, l.told) = (k.type, k.reference) AND {is_same("k.terminal_id", "l.terminal")}
    )
"""  # noqa: S608
KEEP_LINES = f"""
    INSERT INTO reconciliation_keptline
        (day, type, reference, merchant_id, currency, amount, value_date, terminal_id)
    SELECT l.day, l.type, l.told, l.merchant, l.currency, l.amount, l.value_date, l.terminal
    FROM reconciled_line l
    WHERE EXISTS (
        SELECT FROM reconciled_otherwise f
        WHERE (f.type, f.reference) = (l.type, l.reference) AND f.verdict <> 'twice'
          AND {is_same("f.terminal", "l.terminal")}
    )
"""  # noqa: S608


class Booking(NamedTuple):
    """A booking that a bank's statement has, and a restored copy has not; it has no day.

    :param type: of `lines.TYPES`.
    :param amount: in minor units.
    """

    type: str
    reference: str
    merchant_id: str
    currency: str
    amount: int


class ClosedBefore(DomainError):
    code = "parameter_invalid"
    message = "It is closed: a file agreed, or somebody else has closed it."


def open_found() -> int:
    """Open what the reading found and is not open; return the number.

    The sides of one that is open follow the newest file. The very difference that a person has
    closed stays closed.
    """
    with connection.cursor() as cursor:
        cursor.execute(FOLLOW)
    after, opened = 0, 0
    while found := _to_open(after):
        Difference.objects.bulk_create(_difference(row) for row in found)
        after, opened = found[-1][0], opened + len(found)
    return opened


@transaction.atomic(durable=True)
def open_lost(booking: Booking) -> None:
    """Open a difference about a booking that a restored copy lacks, unless there was one before."""
    bank = {
        "merchant": booking.merchant_id, "currency": booking.currency, "amount": booking.amount,
        "undated": True,
    }  # fmt: skip
    kind = Difference.Kind.MISSING_HERE
    named = {"type": booking.type, "reference": booking.reference, "kind": kind}
    if Difference.objects.filter(**named).exists():
        return
    merchant = Merchant.objects.filter(id=booking.merchant_id).first()
    now = clock.now()
    Difference.objects.create(
        id=ids.new("diff"), day=now.date(), merchant=merchant, bank=bank, opened_at=now, **named
    )


def close_agreed(covered: list[date], terminal: Terminal | None) -> int:
    """Close what the reading does not find any more; return the number.

    :param covered: the days for which the file speaks whole.
    :param terminal: the one for whose bookings alone it speaks; None for all.
    """
    with connection.cursor() as cursor:
        cursor.execute(AGREED, {"now": clock.now(), **_speaks_for(covered, terminal)})
        return cursor.rowcount


def keep_lines(covered: list[date], terminal: Terminal | None) -> None:
    """Keep the lines that do not plainly agree, for the next reading, and no others.

    The parameters are those of `close_agreed`.
    """
    with connection.cursor() as cursor:
        cursor.execute(FORGET_LINES, _speaks_for(covered, terminal))
        cursor.execute(KEEP_LINES)


@transaction.atomic(durable=True)
def close(operator: User, difference_id: str, *, reason: str) -> Difference:
    """Close a difference by a person's decision: the same file does not open it again.

    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises ReasonUnfit: the reason is too short, too long, or has a card number in it.
    :raises ClosedBefore: it is closed.
    """
    cases.require_may_resolve(operator)
    text = cases.fit_reason(reason)
    difference = Difference.objects.select_for_update().get(id=difference_id)
    if not difference.is_open:
        raise ClosedBefore
    difference.closed_at, difference.closed_by = clock.now(), operator
    difference.reason = text
    difference.save(update_fields=["closed_at", "closed_by", "reason"])
    after = {"status": "resolved", "kind": difference.kind, "type": difference.type,
             "reference": difference.reference, "by": operator.pk}  # fmt: skip
    audit_log.record(
        "case.decided", merchant=difference.merchant, subject=difference.id,
        before={"status": "open"}, after=after, reason=text,
    )  # fmt: skip
    return difference


def _speaks_for(covered: list[date], terminal: Terminal | None) -> dict[str, Any]:
    return {"covered": covered, "terminal": terminal.id if terminal else None}


def _to_open(after: int) -> list[Any]:
    values: dict[str, Any] = {"after": after, "no_difference": NO_DIFFERENCE, "chunk": CHUNK}
    with connection.cursor() as cursor:
        cursor.execute(TO_OPEN, values)
        return cursor.fetchall()


def _difference(row: Any) -> Difference:
    _position, kind, type_, reference, day, merchant_id, terminal_id, bank, ours = row
    return Difference(
        id=ids.new("diff"),
        kind=kind,
        type=type_,
        reference=reference,
        day=day,
        merchant_id=merchant_id,
        terminal_id=terminal_id,
        bank=orjson.loads(bank) if bank else None,
        ours=orjson.loads(ours) if ours else None,
        opened_at=clock.now(),
    )
