"""A safe boundary of the journal: every entry up to it is committed, or never will be.

Entries get their ids before they are committed, and a later id may be committed first. A sum up to
the highest visible id would miss an entry that is committed below it later.
"""

import time
from typing import Any

from django.db import connection

LOOK_AGAIN_SECONDS = 0.02
# The reader's own number comes after its snapshot: whatever has an entry below the boundary got its
# number before (`book.journal.write` sees to that). `pg_snapshot_xmax` would not do: it is one
# above the highest number that has *ended*, and those that run beyond it count as not begun.
READ = "SELECT coalesce(max(id), 0), pg_current_xact_id()::text FROM ledger_entry"
# The own transaction is not among those that a snapshot lists.
HAVE_ENDED = """
SELECT NOT EXISTS (
    SELECT FROM pg_snapshot_xip(pg_current_snapshot()) running WHERE running < %s::xid8
)
"""


def find(*, patience_seconds: float) -> int | None:
    """Return the id of the newest entry, once nothing that is older can still be committed.

    Waits for every transaction that runs now; the caller has none open.

    :returns: None if one of them is still open after so long: sum nothing then.
    """
    ((newest, horizon),) = _rows(READ)
    ends_at = time.monotonic() + patience_seconds
    while _rows(HAVE_ENDED, horizon) != [(True,)]:
        if time.monotonic() >= ends_at:
            return None
        time.sleep(LOOK_AGAIN_SECONDS)
    return int(newest)


def _rows(query: str, *values: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
