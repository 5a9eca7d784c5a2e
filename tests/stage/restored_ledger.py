"""The ledger of a restored dump goes on: `python -m tests.stage.restored_ledger MERCHANT`.

In the environment of the service on the database that the dump was restored to. Entries are
written there, one of them late, and the checkpoint job runs beside them. Prints JSON: what each
check of the audit found after every step, and how far the job went.
"""

import json
import os
import sys
from typing import Any

import django

django.setup()

from django.db import connection  # noqa: E402

from audit import balances  # noqa: E402
from core import context  # noqa: E402
from ledger import balance, checkpoints  # noqa: E402
from ledger.models import Boundary, LedgerEntry  # noqa: E402
from merchants.models import Merchant  # noqa: E402
from tests.stage.journal_writers import Writer  # noqa: E402

RUNS = 3


def state(merchant: Merchant) -> dict[str, Any]:
    """Return what is wrong, what is shown, and how far the checkpoints go."""
    boundary = Boundary.objects.get()
    return {
        "differences": [said for check in balances.CHECKS for said in check().differences],
        "available": balance.funds(merchant.id, "try").available,
        "newest": LedgerEntry.objects.latest("id").id,
        "reached": boundary.reached,
        "next": boundary.next,
    }


def number() -> int:
    """Return the number of this transaction in this cluster."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        return int(cursor.fetchone()[0])


def main(merchant: Merchant) -> dict[str, Any]:
    steps = {"restored": state(merchant)}
    late, other = (Writer(os.environ["DATABASE_URL"]) for _ in range(2))
    late.topup(merchant, 1000)
    other.topup(merchant, 1)
    other.commit()
    for _ in range(RUNS):
        checkpoints.advance()
    steps["held"] = state(merchant)
    late.commit()
    for _ in range(RUNS):
        checkpoints.advance()
    steps["committed"] = state(merchant)
    for writer in (late, other):
        writer.close()
    return {"number": number(), "steps": steps}


if __name__ == "__main__":
    with context.work():
        sys.stdout.write(json.dumps(main(Merchant.objects.get(id=sys.argv[1]))))
