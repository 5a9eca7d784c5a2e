"""A person with all rights in the database, who tampers with the audit log."""

from typing import Any

from django.db import connection


def tamper(statement: str, *parameters: Any) -> None:
    """Run a statement past the triggers, as the database's owner can."""
    connection.check_constraints()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement, parameters)
        cursor.execute("SET session_replication_role = origin")
