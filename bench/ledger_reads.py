"""The cost of balances and refunds in the ledger: `python -m bench.ledger_reads ORDER.json`.

The balance is read as the API reads it, and held against a plain sum of all entries. Refunds of
both merchants are written in turns, each in a transaction of its own, so that a busy machine slows
both. Prints JSON.
"""

import json
import random
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from django.db import connection, transaction

from bench import (
    buffers,
    installation,  # noqa: F401
)
from bench.bars import Figures
from core import clock, context, ids
from ledger import balance, book
from ledger.models import LedgerEntry, Movement
from merchants.models import Merchant

SHOWN = "SELECT split_part(account_id, '.', 3), sum(amount) FROM ledger_entry"


def measure(large: str, small: str, refunds: int) -> dict[str, Any]:
    """Return figures of the merchant with many entries, and of one with few.

    :param refunds: so many of each merchant.
    """
    named = {"large": large, "small": small}
    figures: Figures = {}
    balances = {}
    for name, merchant_id in named.items():
        balances[name], costs = read_balance(merchant_id)
        figures |= {f"{name}_{what}": cost for what, cost in costs.items()}
    wrong = [name for name, body in balances.items() if not is_right(body, named[name])]
    return {
        "figures": figures,
        "balances": balances,
        "wrong": wrong,
        "refunds": _refunds(large, small, refunds) if refunds else {},
    }


def read_balance(merchant_id: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return a balance as it is shown, and what it cost."""
    merchant = Merchant.objects.get(id=merchant_id)
    body, touched = buffers.of_statements(lambda: balance.shown(merchant))
    entries = LedgerEntry.objects.filter(merchant=merchant).count()
    return body, {"entries": entries, "statements": len(touched), "buffers": sum(touched)}


def is_right(body: dict[str, Any], merchant_id: str) -> bool:
    """Return whether a balance shows what all entries of the merchant sum to."""
    with connection.cursor() as cursor:
        cursor.execute(f"{SHOWN} WHERE merchant_id = %s GROUP BY 1", [merchant_id])
        sums = dict(cursor.fetchall())
    return all(body[kind][0]["amount"] == int(sums.get(kind, 0)) for kind in balance.SHOWN)


def _refunds(large: str, small: str, count: int) -> Figures:
    """Return how long a refund takes in the ledger, in ms, and how the two compare."""
    draw = random.Random(7)  # noqa: S311
    charges = {one: _some_charges(one, draw, count) for one in (large, small)}
    taken: dict[str, list[float]] = {large: [], small: []}
    for number in range(count):
        for merchant_id, some in charges.items():
            taken[merchant_id].append(_refund(merchant_id, some[number % len(some)]))
    ours, theirs = (median(taken[one]) for one in (large, small))
    return {"large_refund_ms": ours, "small_refund_ms": theirs, "refund_times": ours / theirs}


def _some_charges(merchant_id: str, draw: random.Random, count: int) -> list[str]:
    """Return charges of all ages."""
    charges = Movement.objects.filter(merchant_id=merchant_id, kind="charge").order_by("id")
    ends = charges.values_list("id", flat=True)
    first, last = (int(one.removeprefix("txn_bench")) for one in (ends[0], ends.reverse()[0]))
    drawn = [f"txn_bench{draw.randint(first, last):012}" for _ in range(count)]
    return [charges.filter(id__gte=one).values_list("cause_id", flat=True)[0] for one in drawn]


def _refund(merchant_id: str, charge_id: str) -> float:
    cause_id, now = ids.new("re"), clock.now()
    began = time.perf_counter()
    with transaction.atomic():
        book.refund(merchant_id, amount=100, charge_id=charge_id, cause_id=cause_id, now=now)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    with context.work():
        print(json.dumps(measure(**order)))
