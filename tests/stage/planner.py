"""PostgreSQL's planner, told what it plans for: in a table of one row all indexes are alike."""

from django.db import transaction

from tests.stage.database_role import as_owner

ROWS = 1_000_000


def takes_for_large(table: str) -> None:
    """Let the planner take a table for one of a million rows, until this transaction ends."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("the table would be taken for large for good")
    with as_owner() as cursor:
        # It counts the pages that there are, and multiplies by what was on each when it looked.
        cursor.execute(
            "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', %s::text,"
            " 'relpages', 1, 'reltuples', %s::real)",
            [table, ROWS],
        )
        # Other tests may have left what they had in it.
        forget_statistics(table)


def forget_statistics(table: str) -> None:
    """Let the planner know nothing of what is in a table."""
    with as_owner() as cursor:
        cursor.execute(
            "SELECT pg_clear_attribute_stats('public', %s::text, attname, false)"
            " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            [table, table],
        )
