"""How many rows a piece of work wrote, by table."""

import time
from collections import Counter
from typing import NamedTuple

import psycopg
from psycopg import sql

from devstack.state import CannotContinue

PATIENCE_SECONDS = 10
PAUSE_SECONDS = 0.3

# Tables that hold rows: of a partitioned one its partitions.
TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)
# A process writes its heartbeat by the clock, whatever it is asked for.
CHANGED = """
    SELECT relname, n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname <> 'core_process'
"""
OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()
"""
OF_A_PROCESS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"

Counts = Counter[str]


class Written(NamedTuple):
    """How many rows one payment writes, by table; `changed` are updates and deletions."""

    added: Counts
    changed: Counts


def held(url: str) -> Counts:
    """Count the rows of every table, once they have stopped coming.

    :raises CannotContinue: they do not stop.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    counts = _counted(url)
    while time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
        before, counts = counts, _counted(url)
        if before == counts:
            return counts
    raise CannotContinue("The tables do not come to rest.")


def changed(url: str) -> Counts:
    """Count the updates and deletions in every table since the database was made.

    Connections keep their figures to themselves for seconds, and hand them in at their end.

    :raises CannotContinue: a client stays connected.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(OTHERS).fetchone() != (0,):
            if time.monotonic() > deadline:
                raise CannotContinue("Somebody stays connected to the database.")
            time.sleep(PAUSE_SECONDS)
        return Counter(dict(connection.execute(CHANGED).fetchall()))


def connections_of(url: str, name: str) -> int:
    """Count the connections of a process to its database, by the name that it gives itself."""
    with psycopg.connect(url) as connection:
        [count] = connection.execute(OF_A_PROCESS, [name]).fetchone() or [0]
        return count


def added_by_each(before: Counts, after: Counts, payments: int) -> Counts:
    """Return how many rows each payment added.

    :raises CannotContinue: not every payment added the same.
    """
    for table, count in (after - before).items():
        if count % payments:
            raise CannotContinue(f"{table}: {payments} payments added {count} rows.")
    return Counter({table: count // payments for table, count in (after - before).items()})


def changed_by_each(before: Counts, after: Counts, payments: int) -> Counts:
    """Return how often each payment changed a row; what happens now and then is rounded away."""
    return +Counter({table: round(n / payments) for table, n in (after - before).items()})


def require_same(payment: Written, floor: Written) -> None:
    """Compare the rows that the floor's transaction wrote with those of a payment.

    :raises CannotContinue: they differ, so that the floor is not a floor under the payment.
    """
    for what in Written._fields:
        ours, theirs = getattr(payment, what), getattr(floor, what)
        for table in sorted(ours | theirs):
            if ours[table] != theirs[table]:
                raise CannotContinue(
                    f"The floor does not write what a payment writes: in {table} a payment has"
                    f" {ours[table]} rows {what}, the floor's transaction {theirs[table]}."
                )


def _counted(url: str) -> Counts:
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(TABLES)]
        count = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {}, count(*) FROM {}").format(name, sql.Identifier(name))
            for name in names
        )
        return Counter(dict(connection.execute(count).fetchall()))
