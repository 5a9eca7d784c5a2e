"""A person with all rights in the database, who tampers with the audit log."""

from typing import Any

from django.db import connection

from tests.stage.database_role import past_guards


def tamper(statement: str, *parameters: Any) -> None:
    """Run a statement past the triggers, as the database's owner can."""
    connection.check_constraints()
    with past_guards() as cursor:
        cursor.execute(statement, parameters)
