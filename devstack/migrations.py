"""Notice that a database was made by other migration files than the checkout's.

A migration that no release has yet may be changed: a database made by yesterday's file says
it is up to date, and its columns are missing. The digest of each applied file is kept in the
database itself, so that it travels with the database.
"""

import hashlib
from pathlib import Path

import psycopg

from devstack.state import ROOT, CannotContinue

CREATE_TABLE = """
CREATE SCHEMA IF NOT EXISTS devstack;
CREATE TABLE IF NOT EXISTS devstack.migration (
    app text NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (app, name)
)
"""
STILL_APPLIED = """
SELECT kept.app, kept.name, kept.digest
FROM devstack.migration AS kept JOIN django_migrations USING (app, name)
"""
REMEMBER = """
INSERT INTO devstack.migration (app, name, digest)
SELECT %(app)s, %(name)s, %(digest)s
WHERE EXISTS (SELECT FROM django_migrations WHERE app = %(app)s AND name = %(name)s)
ON CONFLICT (app, name) DO UPDATE SET digest = excluded.digest
"""
FORGET_UNAPPLIED = """
DELETE FROM devstack.migration AS kept
WHERE NOT EXISTS (
    SELECT FROM django_migrations AS applied
    WHERE applied.app = kept.app AND applied.name = kept.name
)
"""

Digests = dict[tuple[str, str], str]


def compare(url: str, root: Path = ROOT) -> None:
    """Check the database's digests; files that were merely added are fine.

    :param root: the directory of the code whose migrations count.
    :raises CannotContinue: a migration that was applied has changed or is gone.
    """
    here = digests(root)
    with psycopg.connect(url) as connection:
        for app, name, digest in _remembered(connection):
            if here.get((app, name)) != digest:
                raise CannotContinue(
                    "The database was made by other migrations: run ./dev reset"
                    f" ({app}.{name} has changed or is gone;"
                    " a database of your own, named by DATABASE_URL, you empty yourself)."
                )


def remember(url: str, root: Path = ROOT) -> None:
    """Keep the digests of the files that are applied now."""
    with psycopg.connect(url) as connection:
        if not _has_table(connection, "django_migrations"):
            return
        connection.execute(CREATE_TABLE)
        connection.execute(FORGET_UNAPPLIED)
        for (app, name), digest in digests(root).items():
            connection.execute(REMEMBER, {"app": app, "name": name, "digest": digest})


def digests(root: Path) -> Digests:
    """Return the digest of each migration file by (app label, migration name)."""
    return {
        (file.parent.parent.name, file.stem): hashlib.sha256(file.read_bytes()).hexdigest()
        for pattern in ("*/migrations/[0-9]*.py", "*/*/migrations/[0-9]*.py")
        for file in root.glob(pattern)
    }


def _remembered(connection: psycopg.Connection) -> list[tuple]:
    if not _has_table(connection, "devstack.migration"):
        return []
    return connection.execute(STILL_APPLIED).fetchall()


def _has_table(connection: psycopg.Connection, name: str) -> bool:
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [name]).fetchone()
    return bool(row and row[0])
