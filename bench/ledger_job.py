"""The checkpoint job, run after run: `python -m bench.ledger_job`, until nothing is behind.

What is behind when it begins is what it has to add. Prints how many seconds it took.
"""

import time

from django.db import connection

from bench import (
    installation,  # noqa: F401
)
from core import context
from ledger import checkpoints

# Between two runs, which are a minute apart in an installation: so long transactions take to end.
PAUSE_SECONDS = 0.1
NEWEST = "SELECT coalesce(max(id), 0) FROM ledger_entry"
REACHED = "SELECT reached FROM ledger_boundary"


def main() -> float:
    newest = _number(NEWEST)
    began = time.monotonic()
    checkpoints.advance()
    while _number(REACHED) < newest:
        time.sleep(PAUSE_SECONDS)
        checkpoints.advance()
    return time.monotonic() - began


def _number(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    with context.work():
        print(main())
