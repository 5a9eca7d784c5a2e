"""Indexes that a migration makes while rows are written, and again after it has broken off."""

from typing import Any

from django.contrib.postgres import operations


class AddIndexConcurrently(operations.AddIndexConcurrently):
    """An index without a lock, outside of a transaction.

    A full disk or a kill leaves it there: not whole, or whole and its migration not written down.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        self._ensure_not_in_transaction(schema_editor)
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
