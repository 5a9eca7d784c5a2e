"""The database's two roles: the owner migrates, the service's own role reads and writes.

An owner could drop a guard's trigger, or empty a table. So a live process does not run as one,
and `manage.py migrate` connects as the owner for itself, and gives the other its rights.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from psycopg import Connection

# Read by every process, which must not say that a migration is applied.
ONLY_READ = ("django_migrations",)
ADDRESS = ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")

# Whether this work is the owner's, or asks about it.
_owner_may_connect: ContextVar[bool] = ContextVar("owner_may_connect", default=False)
_proven: set[str] = set()

MAY_TOO_MUCH = """
SELECT quote_ident(current_user),
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
    EXISTS (SELECT FROM pg_class
            WHERE oid = to_regclass('django_migrations') AND pg_has_role(relowner, 'USAGE'))
"""
MAY_MIGRATE = """
SELECT quote_ident(current_user), has_schema_privilege(current_schema(), 'CREATE')
    AND NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('django_migrations')
                    AND NOT pg_has_role(relowner, 'USAGE'))
"""
TABLES = """
SELECT quote_ident(relname) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
    AND pg_has_role(relowner, 'USAGE')
"""
SEQUENCES = TABLES.replace("'r', 'p'", "'S'")
# Functions that delete guarded rows run with the rights of their owner.
DOORS = """
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = current_schema()::regnamespace AND prosecdef AND pg_has_role(proowner, 'USAGE')
"""


@contextmanager
def owner_may_connect() -> Iterator[None]:
    """Let this work connect as the owner in live: it migrates, or looks at the role."""
    token = _owner_may_connect.set(True)
    try:
        yield
    finally:
        _owner_may_connect.reset(token)


@contextmanager
def owner(alias: str) -> Iterator[str | None]:
    """Connect to a database as its owner, where the owner has an address of its own.

    Yields the service's role, which needs rights then; None where one role does all.
    """
    connection = connections[alias]
    address = settings.OWNER_DATABASES.get(alias)
    with owner_may_connect():
        if address is None:
            yield None
            return
        role = _current_role(alias)
        kept = {name: connection.settings_dict[name] for name in ADDRESS}
        connection.close()
        connection.settings_dict.update({name: address[name] for name in ADDRESS})
        try:
            yield None if _current_role(alias) == role else role
        finally:
            connection.close()
            connection.settings_dict.update(kept)


def require_may_migrate(alias: str) -> None:
    """:raises ImproperlyConfigured: the role may not make and change tables."""
    with connections[alias].cursor() as cursor:
        cursor.execute(MAY_MIGRATE)
        [[role, may]] = cursor.fetchall()
    if not may:
        variable = "OWNER_DATABASE_URL" if alias == "default" else "OWNER_BANK_DATABASE_URL"
        raise ImproperlyConfigured(
            f"The role {role} may not change the database's tables: set {variable} to the address "
            "of the role that owns them, for this command alone."
        )


def give_rights(alias: str, role: str) -> None:
    """Give the service's role what it needs, and take what it had beyond.

    Called as the owner after each migration, for rights belong to tables that exist.
    """
    with connections[alias].cursor() as cursor:
        cursor.execute(TABLES)
        tables = [name for [name] in cursor.fetchall()]
        cursor.execute(SEQUENCES)
        sequences = [name for [name] in cursor.fetchall()]
        cursor.execute(DOORS)
        doors = [signature for [signature] in cursor.fetchall()]
        # One statement for PostgreSQL: no moment has less than before.
        cursor.execute(";".join(_changes(role, tables, sequences, doors)))


def _changes(role: str, tables: list[str], sequences: list[str], doors: list[str]) -> Iterator[str]:
    """Yield the statements; every name is quoted by PostgreSQL."""
    for table in tables:
        rights = "SELECT" if table in ONLY_READ else "SELECT, INSERT, UPDATE, DELETE"
        yield f"REVOKE ALL ON TABLE {table} FROM {role}"
        yield f"GRANT {rights} ON TABLE {table} TO {role}"
    for sequence in sequences:
        yield f"GRANT USAGE ON SEQUENCE {sequence} TO {role}"
    for door in doors:
        yield f"REVOKE ALL ON FUNCTION {door} FROM PUBLIC"
        yield f"GRANT EXECUTE ON FUNCTION {door} TO {role}"


def require_weak_role(alias: str, raw: Connection) -> None:
    """Refuse a live process that may change what guards its rows, once per process.

    :raises ImproperlyConfigured: the role is a superuser, or owns the tables.
    """
    if not settings.LIVEMODE or alias in _proven or _owner_may_connect.get():
        return
    [(role, is_superuser, is_owner)] = raw.execute(MAY_TOO_MUCH).fetchall()
    if is_superuser or is_owner:
        kind = "is a superuser" if is_superuser else "owns the database's tables"
        raise ImproperlyConfigured(
            f"The role {role} {kind}, and so could change what guards them: connect as the "
            "service's own role, see docs/operate/database.md (PostgreSQL)."
        )
    _proven.add(alias)


def _current_role(alias: str) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_user)")
        return cursor.fetchone()[0]
