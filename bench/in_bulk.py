"""Filling tables with very many rows, past triggers, foreign keys and all indexes."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection
from psycopg.conninfo import make_conninfo

from devstack.servers import OWNER, SUPERUSER

# Indexes without a constraint on them: dropped while rows are filled in, and made anew after.
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = %s::regclass
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""
# Indexes of constraints are switched off, for foreign keys need them to be there. Partitions keep
# theirs.
SWITCH_OFF = """
    UPDATE pg_index SET indisready = false, indisvalid = false
    WHERE indrelid = (SELECT oid FROM pg_class WHERE oid = %s::regclass AND relkind = 'r')
    AND EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    RETURNING indexrelid::regclass::text
"""
# Of the server, while it is filled: no page is written twice, and no vacuum waits for an index.
WHILE_FILLING = {
    "autovacuum": "off",
    "full_page_writes": "off",
    "max_wal_size": "'8GB'",
    "checkpoint_timeout": "'1h'",
}
OF_A_SESSION = (
    "SET session_replication_role = replica", "SET synchronous_commit = off",
    "SET maintenance_work_mem = '512MB'",
)  # fmt: skip

# The servers of benchmarks let the service's role do so (devstack.servers).
BECOME_OWNER = f"SET ROLE {OWNER}"

# A statement of psycopg's, and its values if it has some.
Statement = tuple[str, Mapping[str, Any] | None]


@contextmanager
def filling(cursor: Any, tables: Sequence[str]) -> Iterator[None]:
    """Make the indexes after the rows, and check no foreign keys: it would take very long."""
    with _superuser() as server:
        made_after = [_without_indexes(server, table) for table in tables]
        _alter(server, [f"SET {name} = {value}" for name, value in WHILE_FILLING.items()])
    cursor.execute(BECOME_OWNER)
    cursor.execute("SET session_replication_role = replica")
    yield
    at_once(made_after)
    with _superuser() as server:
        _alter(server, [f"RESET {name}" for name in WHILE_FILLING])
        server.execute("CHECKPOINT")
    cursor.execute("RESET session_replication_role")
    cursor.execute("RESET ROLE")


def at_once(chains: Iterable[Sequence[Statement]]) -> None:
    """Execute chains of statements on all cores, each chain in its order, past triggers.

    Each statement is a transaction of its own.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _done in pool.map(_execute, chains):
            pass


def _execute(statements: Sequence[Statement]) -> None:
    with _superuser() as server:
        for setting in OF_A_SESSION:
            server.execute(setting)
        for text, values in statements:
            server.execute(text, values)


def _without_indexes(server: psycopg.Connection, table: str) -> list[Statement]:
    """Take a table's indexes away; return the statements that make the table whole again."""
    dropped = server.execute(INDEXES, [table]).fetchall()
    for name, _definition in dropped:
        server.execute(f"DROP INDEX {name}")
    switched_off = server.execute(SWITCH_OFF, [table]).fetchall()
    again = [f"REINDEX INDEX {name}" for (name,) in switched_off]
    again += [definition for _name, definition in dropped]
    return [(text, None) for text in (*again, f"VACUUM ANALYZE {table}")]


def _alter(server: psycopg.Connection, settings: Iterable[str]) -> None:
    for setting in settings:
        server.execute(f"ALTER SYSTEM {setting}")
    server.execute("SELECT pg_reload_conf()")


def _superuser() -> psycopg.Connection:
    ours = connection.settings_dict
    address = make_conninfo(host=ours["OPTIONS"]["host"], user=SUPERUSER, dbname=ours["NAME"])
    return psycopg.connect(address, autocommit=True, cursor_factory=psycopg.ClientCursor)
