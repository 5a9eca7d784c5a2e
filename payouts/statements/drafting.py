"""Statements before they are kept: of a month that is over, and of the one that runs."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet

from core import clock, ids, local_days
from ledger import totals, transactions
from ledger.models import Movement
from ledger.totals import Sums, Totals
from merchants.models import Merchant
from payouts import destinations
from payouts.models import Payout
from payouts.statements.models import Statement

# As a statement shows them.
TYPES = tuple(Movement.Type.values)
NUMBERS = ("number", "amount", "fee", "net")
# More stand in the list of payouts.
PAYOUTS_MOST = 1_000


def of_merchant(merchant: Merchant, currency: str) -> QuerySet[Statement]:
    """Return the statements of a currency, the first month first, without their payouts."""
    rows: QuerySet[Statement] = Statement.objects.for_merchant(merchant).filter(currency=currency)
    return rows.order_by("month").defer("payouts")


def next_month(merchant: Merchant, currency: str, last: Statement | None) -> date | None:
    """Return the first day of the month after the last statement's; None before any movement."""
    if last:
        return following(last.month)
    rows = transactions.of_merchant(merchant).filter(currency=currency)
    first = rows.order_by("created_at", "id").values_list("created_at", flat=True).first()
    return local_days.of(first, merchant.timezone).replace(day=1) if first else None


def draft(merchant: Merchant, currency: str, month: date, before: Iterable[Statement]) -> Statement:
    """Return the statement of a month that is over, not saved.

    It has the entries in checkpoints; the caller has seen that they go beyond the month's end.

    :param before: all earlier statements of the currency, the first month first.
    """
    before = list(before)
    made = _begun(merchant, currency, month, before)
    found = totals.until(merchant.id, currency, made.ends_at)
    return _filled(made, found, before)


def running(merchant: Merchant, currency: str) -> Statement | None:
    """Return what the next statement would be if the month ended now; None before any movement."""
    before = list(of_merchant(merchant, currency))
    month = next_month(merchant, currency, before[-1] if before else None)
    if month is None:
        return None
    made = _begun(merchant, currency, month, before)
    return _filled(made, totals.now(merchant.id, currency), before)


def ends(month: date, merchant: Merchant) -> Any:
    """Return the instant at which a month ends in the merchant's zone."""
    return local_days.begins(following(month), merchant.timezone)


def following(month: date) -> date:
    """Return the first day of the month after one."""
    return (month + timedelta(days=31)).replace(day=1)


def _begun(merchant: Merchant, currency: str, month: date, before: list[Statement]) -> Statement:
    begins_at = local_days.begins(month, merchant.timezone)
    return Statement(
        id=ids.new("stm"),
        merchant=merchant,
        currency=currency,
        month=month,
        begins_at=before[-1].ends_at if before else begins_at,
        ends_at=ends(month, merchant),
        timezone=merchant.timezone,
        created_at=clock.now(),
    )


def _filled(made: Statement, found: Totals, before: list[Statement]) -> Statement:
    """Fill a statement in with all that no earlier one has."""
    whole = found.all
    made.boundary = found.reached
    made.lines = _lines(found.by_type, before)
    made.opening = before[-1].closing if before else 0
    made.available, made.pending, made.reserved = whole.available, whole.pending, whole.reserved
    made.closing = whole.net
    made.net = made.closing - made.opening
    made.surcharge = whole.surcharge - sum(one.surcharge for one in before)
    made.payouts = _payouts(made)
    return made


def _lines(by_type: dict[str, Sums], before: list[Statement]) -> list[list[Any]]:
    earlier: Counter[tuple[str, str]] = Counter()
    for statement in before:
        for kind, *numbers in statement.lines:
            earlier.update(
                {(kind, name): value for name, value in zip(NUMBERS, numbers, strict=True)}
            )
    return [
        [
            kind,
            *(getattr(by_type.get(kind, Sums()), name) - earlier[kind, name] for name in NUMBERS),
        ]
        for kind in TYPES
    ]


def _payouts(made: Statement) -> list[dict[str, Any]]:
    rows = Payout.objects.for_merchant(made.merchant).filter(
        currency=made.currency, created_at__gte=made.begins_at, created_at__lt=made.ends_at
    )
    return [_payout(row, made.timezone) for row in rows.order_by("created_at", "id")[:PAYOUTS_MOST]]


def _payout(row: Payout, zone: str) -> dict[str, Any]:
    """Return a payout as it stands, with the days on which it was sent and arrived."""
    arrived = row.arrival_at if row.status == "paid" else None
    return {
        "id": row.id,
        "amount": row.amount,
        "status": row.status,
        "account": destinations.masked(row.iban) or row.destination,
        "sent": str(local_days.of(row.sent_at, zone)) if row.sent_at else None,
        "arrived": str(local_days.of(arrived, zone)) if arrived else None,
    }
