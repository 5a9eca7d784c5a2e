"""Settlement: parts of charges become available when their date has come (contract-money, To 6).

A run reaches as far as its date and its boundary in the journal. It settles the parts that the
runs before did not reach: those of dates since the last one, and those that were committed after
its boundary whatever their date.
"""

from contextlib import suppress
from datetime import date

import structlog
from django.db import transaction
from django.db.models import QuerySet, Sum

from core import clock, ids
from ledger import accounts, book, boundary, parts
from ledger.models import Account, Entry, Movement, Run
from ledger.models.accounts import account_id
from merchants.models import Merchant

# So long a run waits for transactions that may still write below its boundary, and so often it
# begins anew because the merchant's parts were taken from meanwhile.
PATIENCE_SECONDS = 5.0
TRIES = 3

log = structlog.get_logger(__name__)


class _Overtaken(Exception):
    """Parts that the run would settle were taken from behind its boundary."""


def settle(merchant: Merchant, currency: str, *, on: date) -> Run | None:
    """Make available whatever is due on a date, or before it, and tell the event.

    One run per merchant, currency and date; safe to call at any time, twice, or beside itself.

    :param on: the merchant's local date.
    :returns: None if nothing is due, if the date is settled, or if the run is put off: while a
        transaction of before is open, or parts are taken from again and again, it settles nothing.
    """
    accounts.ensure(merchant.id, currency)
    for _ in range(TRIES):
        edge = boundary.find(patience_seconds=PATIENCE_SECONDS)
        if edge is None:
            break
        with suppress(_Overtaken):
            return _settle(merchant, currency, on, edge)
    log.warning("settlement_put_off", merchant=merchant.id, currency=currency)
    return None


@transaction.atomic(durable=True)
def _settle(merchant: Merchant, currency: str, on: date, edge: int) -> Run | None:
    accounts.lock(merchant.id, currency)
    last = parts.last_run(merchant.id, currency)
    if last and last.date >= on:
        return None
    edge = max(edge, last.boundary) if last else edge  # A run beside this one may have come first.
    due = _open_parts(merchant, currency, last).filter(available_on__lte=on)
    _require_not_overtaken(due, edge)
    sums = _sums(due, edge)
    if not sums:
        return None
    run = Run.objects.create(
        id=ids.new("run"),
        merchant=merchant,
        currency=currency,
        date=on,
        boundary=edge,
        created_at=clock.now(),
    )
    if any(sums.values()):
        book.settlement(merchant.id, sums, currency=currency, cause_id=run.id, now=run.created_at)
    return run


def _open_parts(merchant: Merchant, currency: str, last: Run | None) -> QuerySet[Entry]:
    account = account_id(merchant.id, currency, Account.Kind.PENDING)
    entries = parts.open_entries(merchant.id, last).filter(account=account)
    return entries.exclude(movement__kind=Movement.Kind.SETTLEMENT)


def _require_not_overtaken(due: QuerySet[Entry], edge: int) -> None:
    """Refuse to settle parts that something has taken from behind the boundary.

    Whatever takes from them holds the account, so all of it is seen by now. The next run only would
    settle what it took, and until then the merchant would have that money twice.

    :raises _Overtaken: the run begins anew, with another boundary.
    """
    if due.filter(id__gt=edge, amount__lt=0).exists():
        raise _Overtaken


def _sums(due: QuerySet[Entry], edge: int) -> dict[date, int]:
    """Return what is due by date: 0 for a charge and its void, which are settled without a line."""
    sums = due.filter(id__lte=edge).values_list("available_on").annotate(Sum("amount"))
    return {day: int(amount) for day, amount in sums if day}
