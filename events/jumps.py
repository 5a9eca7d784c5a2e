"""Numbers of events after a restore.

The copy lacks events that merchants have seen. A new event with such a number would be taken for
an old one, so the counters move past all that may have left: the one gap of a sequence (I5).
"""

from datetime import UTC, datetime

from django.db import connection

# More than the events of one object in any time that a backup lacks.
BY = 10_000
# Another restore of the same backup knows of no jump before it. So a number is not below the
# seconds since then: numbers after an earlier restore are, as long as an object has no more than
# an event in a second.
SINCE = datetime(2025, 1, 1, tzinfo=UTC)
JUMP = """
WITH found AS (
    SELECT aggregate_id, merchant_id, last FROM events_counter AS counter
    WHERE NOT EXISTS (
        SELECT FROM events_jump j
        WHERE (j.aggregate_id, j.merchant_id, j.restored_at)
            = (counter.aggregate_id, counter.merchant_id, %(restored_at)s))
    FOR UPDATE
), moved AS (
    UPDATE events_counter AS counter SET last = greatest(found.last, %(least)s) + %(by)s
    FROM found
    WHERE (counter.aggregate_id, counter.merchant_id) = (found.aggregate_id, found.merchant_id)
    RETURNING counter.aggregate_id, counter.merchant_id, found.last AS after, counter.last AS upto
)
INSERT INTO events_jump (aggregate_id, merchant_id, after, upto, restored_at)
SELECT aggregate_id, merchant_id, after, upto, %(restored_at)s FROM moved
"""


def jump(restored_at: datetime) -> int:
    """Move every object's counter, once for each restore; return how many moved.

    :param restored_at: when the copy was held, which names the restore.
    """
    with connection.cursor() as cursor:
        least = int((restored_at - SINCE).total_seconds())
        cursor.execute(JUMP, {"by": BY, "least": max(least, 0), "restored_at": restored_at})
        return cursor.rowcount
