"""Numbers of events after a restore.

The copy lacks events that merchants have seen. A new event with such a number would be taken for
an old one, so the counters move past all that may have left: the one gap of a sequence (I5).
"""

from datetime import datetime

from django.db import connection

# More than the events of one object in any time that a backup lacks.
BY = 10_000
JUMP = """
WITH moved AS (
    UPDATE events_counter AS counter SET last = last + %(by)s
    WHERE NOT EXISTS (
        SELECT FROM events_jump j
        WHERE (j.aggregate_id, j.merchant_id, j.restored_at)
            = (counter.aggregate_id, counter.merchant_id, %(restored_at)s))
    RETURNING aggregate_id, merchant_id, last
)
INSERT INTO events_jump (aggregate_id, merchant_id, after, upto, restored_at)
SELECT aggregate_id, merchant_id, last - %(by)s, last, %(restored_at)s FROM moved
"""


def jump(restored_at: datetime) -> int:
    """Move every object's counter, once for each restore; return how many moved.

    :param restored_at: when the copy was held, which names the restore.
    """
    with connection.cursor() as cursor:
        cursor.execute(JUMP, {"by": BY, "restored_at": restored_at})
        return cursor.rowcount
