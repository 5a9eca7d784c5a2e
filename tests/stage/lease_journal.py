"""A journal of the leases of lanes, kept by a trigger while a test lasts."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tests.stage.database_role import as_owner
from tests.stage.webhook_journal import Got

BEGIN = """
CREATE TABLE lease_journal (endpoint_id text, key text, given_at timestamptz DEFAULT now());
GRANT SELECT, INSERT ON lease_journal TO PUBLIC;
CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lease_journal VALUES (NEW.endpoint_id, NEW.key);
    RETURN NULL;
END $$;
CREATE TRIGGER note_lease AFTER UPDATE ON webhooks_lane FOR EACH ROW
WHEN (NEW.lease_id IS NOT NULL AND NEW.lease_id IS DISTINCT FROM OLD.lease_id)
EXECUTE FUNCTION note_lease();
"""
GIVEN = "SELECT endpoint_id, key, extract(epoch FROM given_at)::float8 FROM lease_journal"
END = "DROP FUNCTION note_lease CASCADE; DROP TABLE lease_journal;"


class LeaseJournal:
    """When each lane was leased, in seconds since 1970 by the database's clock."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._given: dict[tuple[str, str], list[float]] = {}

    def read(self) -> None:
        """Read what was noted until now."""
        given = defaultdict[tuple[str, str], list[float]](list)
        with connection.cursor() as cursor:
            cursor.execute(GIVEN)
            for endpoint_id, key, given_at in cursor.fetchall():
                given[endpoint_id, key].append(given_at)
        self._given = {lane: sorted(times) for lane, times in given.items()}

    def explain(self, before: Got, got: Got) -> bool:
        """Tell whether the lease under which it was sent first ran out before the next was given.

        The answer was not written down by then: its process was killed, stood still, or waited.
        """
        return self._leased(got) - self._leased(before) >= self._lease_seconds

    def _leased(self, got: Got) -> float:
        given = self._given[got.lane]
        return given[bisect_right(given, got.at) - 1]


@contextmanager
def lease_journal(lease_seconds: float) -> Iterator[LeaseJournal]:
    """Note each lease while the block lasts.

    :param lease_seconds: how long the leases of the processes last.
    """
    with as_owner() as cursor:
        cursor.execute(BEGIN)
    try:
        yield LeaseJournal(lease_seconds)
    finally:
        with as_owner() as cursor:
            cursor.execute(END)
