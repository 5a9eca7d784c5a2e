"""Steps of the measurement of reconciliation: `python -m bench.reconcile_work STEP …`, as JSON.

Each is a process of its own, so that its memory and CPU time are its own.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection

from bench import (
    in_bulk,
    installation,  # noqa: F401
)

# isort: split
from acquirers import settlement
from audit.reconciliation import reading
from core import context
from payments.intents.models import Attempt

TABLE = "intents_attempt"
# The columns that differ from those of the attempt that is copied; `n` counts the copies.
OTHERS = {
    "id": "'att_bench' || lpad(n::text, 12, '0')",
    "intent_id": "'pi_bench' || lpad(n::text, 12, '0')",
    "acquirer_reference": "'B' || lpad(n::text, 12, '0') || 'BENCH'",
}

Figures = dict[str, float]


def fill_sales(first: str, last: str) -> Figures:
    """Copy the one sale that there is; its copies are numbered."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s", [TABLE]
        )
        columns = [name for (name,) in cursor.fetchall()]
        made = ", ".join(OTHERS.get(name, name) for name in columns)
        with in_bulk.filling(cursor, [TABLE]):
            cursor.execute(
                f"INSERT INTO {TABLE} ({', '.join(columns)}) SELECT {made} FROM"  # noqa: S608
                f" (SELECT * FROM {TABLE} WHERE id NOT LIKE 'att_bench%%') AS one,"
                " generate_series(%s, %s) AS n",
                [int(first), int(last)],
            )
    return {}


def write_file(file: str, count: str, every: str) -> Figures:
    """Write the sales as the bank books them, one line in `every` with another amount."""
    planted = 0
    with Path(file).open("w") as written:
        written.write(",".join(settlement.COLUMNS) + "\n")
        for number, line in enumerate(_lines(int(count)), start=1):
            is_wrong = number % int(every) == 0
            planted += is_wrong
            written.write(line + ("1,\n" if is_wrong else ",\n"))
    return {"planted": planted}


def read_file(file: str) -> Figures:
    """Read a file; return what that cost, and how many differences are open."""
    connection.ensure_connection()  # To open it is no part of the work.
    began = time.perf_counter(), time.process_time()
    with Path(file).open("rb") as opened:
        reading.read(opened)
    return {
        "seconds": time.perf_counter() - began[0],
        "cpu_seconds": time.process_time() - began[1],
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "found": reading.open_differences(),
    }


def _lines(count: int) -> Iterator[str]:
    """Return the lines without their value dates and the ends of their amounts."""
    one = Attempt.objects.exclude(id__startswith="att_bench").get()
    assert one.captured_at is not None
    day = one.captured_at.astimezone(ZoneInfo(settings.BANK_TIMEZONE)).date()
    names = (f"B{number:012d}BENCH" for number in range(1, count + 1))
    for reference in chain([one.acquirer_reference], names):
        yield f"{day},sale,{reference},{one.merchant_id},{one.currency},{one.captured_minor}"


STEPS: dict[str, Callable[..., Figures]] = {
    step.__name__: step for step in (fill_sales, write_file, read_file)
}

if __name__ == "__main__":
    with context.work():
        print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))  # noqa: T201
