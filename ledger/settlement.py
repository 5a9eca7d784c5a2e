"""Settlement: parts of charges become available when their date has come (contract-money, To 6).

A run reaches as far as its date and its boundary in the journal. It settles the parts that the
runs before did not reach: those of dates since the last one, and those that were committed after
its boundary whatever their date.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

import structlog
from django.db import transaction

from api import request_logs
from core import clock, context, ids, rows
from core.one_by_one import alone
from ledger import accounts, agenda, book, boundary, due_parts, parts
from ledger.agenda import Pot
from ledger.due_parts import Day
from ledger.models import Run
from merchants.models import Merchant

# So long a run waits for transactions that may still write below its boundary, and so often it
# begins anew because the merchant's parts were taken from meanwhile.
PATIENCE_SECONDS = 5.0
TRIES = 3
# A look takes up no further merchants after this time: the same worker resolves open payments.
LOOK_SECONDS = 3.0
MERCHANTS_PER_CLAIM = 200

log = structlog.get_logger(__name__)


class _Overtaken(Exception):
    """Parts that the run would settle were taken from behind its boundary."""


def settle(merchant: Merchant, currency: str, *, on: date) -> Run | None:
    """Make available all that is due on a date, or before it, and record the event.

    One run per merchant, currency and date; safe to call at any time, and twice at a time.

    :param on: the merchant's local date.
    :returns: None if nothing is due, if the date is settled, or if the run is put off: while a
        transaction of before is open, or parts are taken from again and again, it settles nothing.
    """
    accounts.ensure(merchant.id, currency)
    pot = Pot(merchant.id, currency)
    for _ in range(TRIES):
        edge = boundary.find(patience_seconds=PATIENCE_SECONDS)
        if edge is None:
            break
        with suppress(_Overtaken):
            return _settle(pot, on, edge)
    log.warning("settlement_put_off", merchant=merchant.id, currency=currency)
    return None


def settle_due(*, job: str) -> int:
    """Settle every merchant with something due by local time; return the number of runs.

    Each in a transaction of its own, for 3 s: the next look goes on. Safe to kill at any place,
    and to run twice at a time: a merchant whom another look settles is left to it.

    :param job: the name of this work in the request logs.
    """
    enough = context.remaining_seconds() - LOOK_SECONDS
    edge, runs = agenda.note(), 0
    for zone, today in agenda.zones(clock.now()).items():
        for pot in _due(zone, today):
            if context.remaining_seconds() <= enough:
                return runs
            with alone("settlement_failed", merchant=pot.merchant_id), request_logs.job(job):
                runs += _settle_if_free(pot, today, edge)
    return runs


def _due(zone: str, today: date) -> Iterator[Pot]:
    """Go over what is due in a time zone, a claim after the other: the memory stays flat."""
    last = None
    while pots := agenda.due(zone, today, after=last, most=MERCHANTS_PER_CLAIM):
        yield from pots
        last = pots[-1]


def _settle_if_free(pot: Pot, on: date, edge: int) -> bool:
    try:
        with transaction.atomic(durable=True):
            return agenda.claim(pot, on) and _settled(pot, on, edge) is not None
    except _Overtaken:
        return False  # The next look's boundary sees what was taken. To wait here delays others.


@transaction.atomic(durable=True)
def _settle(pot: Pot, on: date, edge: int) -> Run | None:
    agenda.hold(pot)
    return _settled(pot, on, edge)


def _settled(pot: Pot, on: date, edge: int) -> Run | None:
    """Settle a pot that the caller holds, and write down when something of it is due next."""
    accounts.lock(*pot)
    last = parts.last_run(*pot)
    run = None if last and last.date >= on else _run(pot, on, edge, last)
    agenda.plan(pot, run or last)
    return run


def _run(pot: Pot, on: date, edge: int, last: Run | None) -> Run | None:
    edge = max(edge, last.boundary) if last else edge  # A run beside this one may have come first.
    due = due_parts.find(*pot, last, on=on, edge=edge)
    _require_not_overtaken(due)
    sums = _sums(due)
    if not sums:
        return None
    run = Run(
        id=ids.new("run"),
        merchant_id=pot.merchant_id,
        currency=pot.currency,
        date=on,
        boundary=edge,
        amount=sum(sums.values()),
        created_at=clock.now(),
    )
    rows.insert(run)
    if any(sums.values()):
        terms = {"currency": pot.currency, "cause_id": run.id, "now": run.created_at}
        book.settlement(pot.merchant_id, sums, **terms)
    return run


def _require_not_overtaken(due: Iterable[Day]) -> None:
    """Refuse to settle parts that something has taken from behind the boundary.

    Whatever takes from them holds the account, so all of it is seen by now. The next run only would
    settle what it took, and until then the merchant would have that money twice.
    """
    if any(day.is_taken_from for day in due):
        raise _Overtaken


def _sums(due: Iterable[Day]) -> dict[date, int]:
    """Return what is due by date: 0 for a charge and its void, which are settled without a line."""
    return {day.date: day.amount for day in due if day.amount is not None}
