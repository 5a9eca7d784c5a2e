"""Steps of the measurement of settlement: `python -m bench.settlement_work STEP …`, as JSON.

Each is a process of its own, so that its memory and CPU time are its own.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Sum

from audit import settlements
from bench import (
    buffers,
    installation,  # noqa: F401
    ledger_fill,
    settlement_fill,
)
from core import clock, context
from events.models import Event
from ledger import agenda, settlement
from ledger.models import Due, LedgerEntry, Run
from merchants.models import Merchant
from payouts import creation

JOB = "bench.settlement"
# Runs and payouts that are measured one after the other; each run is of the next day.
TIMES = 15
# Looks with nothing due, and the charges that have come between two of them: 50 a second.
LOOKS, NEW_CHARGES = 50, 100
# A charge of `ledger_fill` has so many entries.
ENTRIES_OF_A_CHARGE = ledger_fill.ENTRIES_OF_A_CHARGE

Figures = dict[str, float]


def fill_merchants(name: str, count: str, each: str, like: str) -> Figures:
    """Make merchants with parts that are due today."""
    settlement_fill.fill(name, int(count), int(each), like=like)
    return {}


def settle(name: str) -> Figures:
    """Settle all merchants of a name, look after look as beat begins them; return what it cost.

    :raises ValueError: not every part was settled once, with one event.
    """
    connection.ensure_connection()  # To open it is no part of the work.
    began = time.perf_counter(), time.process_time()
    _look()
    # The first condition notes what the look has left; then nothing may be due.
    while not agenda.is_up_to_date() or Due.objects.filter(due_on__lte=_local_date()).exists():
        _look()
    seconds, cpu_seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _require_settled(name)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "mib": mib}


def _require_settled(name: str) -> None:
    ids = Merchant.objects.filter(id__startswith=f"mer_{name}").values_list("id", flat=True)
    parts = LedgerEntry.objects.filter(merchant__in=ids, available_on__isnull=False)
    charged = parts.filter(amount__gt=0).aggregate(total=Sum("amount"))["total"]
    runs = Run.objects.filter(merchant__in=ids)
    told = Event.objects.filter(merchant__in=ids, type="balance.available").count()
    wrong = {
        "merchants without a run": len(ids) - runs.count(),
        "runs without an event": runs.count() - told,
        "pending": int(parts.aggregate(total=Sum("amount"))["total"] or 0),
        "not settled": int(charged) - int(runs.aggregate(total=Sum("amount"))["total"] or 0),
        "still due": Due.objects.filter(merchant__in=ids, due_on__isnull=False).count(),
        "found by the audit": sum(len(check().differences) for check in settlements.CHECKS),
    }
    if any(wrong.values()):
        raise ValueError(f"Not every part was settled once: {wrong}")


def look(merchant_id: str, first: str) -> Figures:
    """Return how long a look takes with nothing due, in ms: alone, and with charges to note."""
    alone = [_timed(_look) for _ in range(LOOKS)]
    noting, number = [], int(first)
    for _ in range(LOOKS):
        entries = {merchant_id: NEW_CHARGES * ENTRIES_OF_A_CHARGE}
        number = ledger_fill.fill(entries, first=number, is_new=True, days=0)
        noting.append(_timed(_look))
    return {
        "look_merchants": Due.objects.count(),
        "look_ms": median(alone),
        "look_noting_ms": median(noting),
        "next": number,
    }


def _look() -> None:
    """Look as beat's task does: for three seconds, or until nothing is due."""
    with context.work():
        settlement.settle_due(job=JOB)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def fill_entries(merchant_id: str, count: str, first: str) -> Figures:
    """Write entries of one merchant, settled up to yesterday by one run."""
    return {"next": ledger_fill.fill({merchant_id: int(count)}, first=int(first))}


def fill_days(merchant_id: str, days: str, each: str, first: str) -> Figures:
    """Write charges of so many days, and settle them day by day up to yesterday."""
    count = int(days) * int(each) * ENTRIES_OF_A_CHARGE
    last = ledger_fill.fill({merchant_id: count}, first=int(first), is_new=True, days=int(days))
    merchant = Merchant.objects.get(id=merchant_id)
    for back in range(int(days), 0, -1):
        settlement.settle(merchant, "try", on=_today(merchant) - timedelta(days=back))
    return {"next": last}


def runs_and_payouts(*merchant_ids: str) -> Figures:
    """Return ms of SQL of a day's run and of a payout, of merchants in turns; the middle ones."""
    merchants = [Merchant.objects.get(id=one) for one in merchant_ids]
    runs: dict[int, list[float]] = {}
    payouts: dict[int, list[float]] = {}
    parts: list[int] = []
    # Behind the fill one run has settled many days: its lines are read by the next one alone.
    for merchant in merchants:
        settlement.settle(merchant, "try", on=_today(merchant))
    tomorrow = _today(merchants[0]) + timedelta(days=1)
    figures: Figures = {"run_buffers": buffers_of_run(merchants[0], tomorrow)}
    for day in range(2, TIMES + 2):
        for number, merchant in enumerate(merchants):
            on = _today(merchant) + timedelta(days=day)
            parts.append(_due(merchant, on))
            runs.setdefault(number, []).append(_sql_ms(_settling(merchant, on)))
            payouts.setdefault(number, []).append(_sql_ms(_paying_out(merchant)))
    figures["parts_of_a_day"] = median(parts)
    for number in range(len(merchants)):
        # The first of each finds nothing in memory.
        figures[f"run_ms_{number}"] = median(runs[number][1:])
        figures[f"payout_ms_{number}"] = median(payouts[number][1:])
    return figures


def buffers_of_run(merchant: Merchant, on: date) -> int:
    """Return the shared buffers that the questions of a day's run touch."""
    asked = buffers.of_questions(_settling(merchant, on))
    assert asked.answer is not None  # noqa: S101  # Something is due on each day.
    return sum(asked.buffers)


def _settling(merchant: Merchant, on: date) -> Callable[[], Any]:
    return lambda: settlement.settle(merchant, "try", on=on)


def _paying_out(merchant: Merchant) -> Callable[[], Any]:
    return lambda: creation.create(merchant, {"amount": 1, "currency": "try"})


def _due(merchant: Merchant, on: date) -> int:
    rows = LedgerEntry.objects.filter(merchant=merchant, account=f"{merchant.id}.try.pending")
    return rows.filter(available_on=on, amount__gt=0).count()


def _today(merchant: Merchant) -> date:
    return _local_date(merchant.timezone)


def _local_date(timezone: str = "Europe/Istanbul") -> date:
    return clock.now().astimezone(ZoneInfo(timezone)).date()


def _sql_ms(work: Callable[[], Any]) -> float:
    with _statements() as took:
        if work() is None:
            raise ValueError("There was nothing to do.")
    return sum(took)


@contextmanager
def _statements() -> Iterator[list[float]]:
    """Write down how long each statement takes, in ms."""
    took: list[float] = []

    def timed(execute: Any, *statement: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*statement)
        finally:
            took.append((time.perf_counter() - began) * 1000)

    with connection.execute_wrapper(timed):
        yield took


STEPS: dict[str, Callable[..., Figures]] = {
    step.__name__: step
    for step in (
        fill_merchants, settle, look, fill_entries, fill_days, runs_and_payouts
    )
}  # fmt: skip

if __name__ == "__main__":
    # A look takes what is left of its budget: `settle` begins them as beat does.
    with context.work():
        print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
