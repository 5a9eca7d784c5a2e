"""Filling tables with very many rows, past triggers, foreign keys and most of the indexes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from devstack.servers import OWNER

# Indexes without a constraint on them: dropped while rows are filled in, and made anew after.
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY (%s::text[]::regclass[])
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""

# The servers of benchmarks let the service's role do so (devstack.servers).
BECOME_OWNER = f"SET ROLE {OWNER}"


@contextmanager
def filling(cursor: Any, tables: Sequence[str]) -> Iterator[None]:
    """Make the indexes after the rows, and check no foreign keys: it would take very long."""
    cursor.execute(INDEXES, [list(tables)])
    indexes = cursor.fetchall()
    cursor.execute(BECOME_OWNER)
    cursor.execute("SET session_replication_role = replica")
    cursor.execute("SET maintenance_work_mem = '256MB'")
    for name, _definition in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for _name, definition in indexes:
        cursor.execute(definition)
    for table in tables:
        cursor.execute(f"VACUUM ANALYZE {table}")
    cursor.execute("RESET maintenance_work_mem")
    cursor.execute("RESET session_replication_role")
    cursor.execute("RESET ROLE")
