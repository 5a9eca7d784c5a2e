"""Empty the tables after tests that committed: the rows go, the tables' files stay.

Django's own way, `flush`, truncates every table, which makes the files of 40 tables and
their indexes anew, and then writes the content types and permissions again: 0.2 s for each
test and database, however little was written.
"""

from django.apps import apps
from django.conf import settings
from django.db import connections

from acquirers.sandbox.default_terminal import add_sandbox_default
from tests.stage.database_role import past_guards

# Tables that the migrations fill and no test changes.
KEPT = {
    "django_content_type", "auth_permission", "auth_group", "auth_group_permissions",
    "django_migrations",
}  # fmt: skip


def empty(alias: str) -> None:
    """Delete all rows of a database but those that the migrations wrote."""
    connection = connections[alias]
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    if alias == "default":
        tables.append("sign_in_cache")  # Django's cache, which has no model.
    # Past the guards: neither those against deletion nor foreign keys are asked.
    with past_guards(alias) as cursor:
        cursor.execute(" UNION ALL ".join(_has_rows(table) for table in sorted(tables)))
        filled = {table for [table] in cursor.fetchall()} - KEPT
        deletions = "".join(f'DELETE FROM "{table}";' for table in sorted(filled))  # noqa: S608
        if deletions:
            cursor.execute(deletions)
    if alias == "default":
        # Without its row it is a new installation: the mark of the one before would be another's.
        settings.MARK_FILE.unlink(missing_ok=True)
    add_sandbox_default(apps.get_app_config("acquirers"), using=alias)


def _has_rows(table: str) -> str:
    return f"SELECT '{table}' WHERE EXISTS (SELECT FROM \"{table}\")"  # noqa: S608
