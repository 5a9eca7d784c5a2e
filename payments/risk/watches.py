"""Merchants at which cards are being tested: watched for a while from the last time it was seen."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

# A watch that is over begins anew.
WATCH = """
    INSERT INTO risk_watch (merchant_id, since, until)
    SELECT merchant_id, %(now)s, %(until)s FROM unnest(%(merchants)s::text[]) merchant_id
    ON CONFLICT (merchant_id) DO UPDATE SET until = excluded.until,
        since = CASE WHEN risk_watch.until < %(now)s THEN %(now)s ELSE risk_watch.since END
"""


def watch(merchant_ids: Sequence[str], *, now: datetime, until: datetime) -> None:
    """Watch merchants until a moment, in the movable clock; one statement, none without any."""
    if merchant_ids:
        # In one order: two runs at once wait for each other, and do not lock each other out.
        values: dict[str, Any] = {"merchants": sorted(merchant_ids), "now": now, "until": until}
        with connection.cursor() as cursor:
            cursor.execute(WATCH, values)
