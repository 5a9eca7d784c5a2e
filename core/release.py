"""The release of this code, and whether it goes with the database's schema.

A release bears a schema that is newer: it was expanded for the next release, which is being
installed now. It does not bear one from which something was taken that it uses.
A migration that takes something is named for the oldest release that does without:
`0007_contract_since_0_3`. Its reader is this release, which has never seen the migration itself.
"""

import re
from typing import NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.loader import MigrationLoader

from core.once import once
from core.version import VERSION

SINCE = re.compile(r"_since_(\d+)_(\d+)$")
APPLIED = "SELECT app, name FROM django_migrations ORDER BY id"

Migrations = frozenset[tuple[str, str]]


class Schema(NamedTuple):
    """The database's schema as this release sees it; each migration as `app.name`.

    :param lacking: migrations of this release that are not applied.
    :param newer: applied ones of a later release, which this one bears.
    :param unborne: applied ones that took something from the schema that this release uses.
    """

    lacking: list[str]
    newer: list[str]
    unborne: list[str]


@once
def own_migrations() -> Migrations:
    """Return the migrations of this release, read once per process."""
    return frozenset(MigrationLoader(None).disk_migrations)


def schema() -> Schema:
    """Compare the database's migrations with this release's.

    :raises django.db.OperationalError: the database is away.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(APPLIED)
            applied = cursor.fetchall()
    except ProgrammingError:
        applied = []  # There is no such table: nothing was ever migrated.
    own = own_migrations()
    lacking = sorted(own.difference(applied))
    later = [one for one in applied if tuple(one) not in own]
    unborne = [name for name in later if not _is_borne(name[1])]
    newer = [name for name in later if name not in unborne]
    return Schema(*([".".join(one) for one in names] for names in (lacking, newer, unborne)))


def require_borne_schema() -> None:
    """Stop a process whose release does not go with the schema.

    One without a database, or with one that was never migrated, starts: each request says so, and
    `/readyz`.

    :raises ImproperlyConfigured: the schema is older, or newer than this release bears.
    """
    try:
        found = schema()
    except OperationalError:
        return
    was_migrated = len(found.lacking) < len(own_migrations())
    if was_migrated and (problem := refusal_of(found)):
        raise ImproperlyConfigured(problem)


def refusal_of(found: Schema) -> str | None:
    """Return the sentence by which a process refuses to run on a schema; None if it runs."""
    if found.unborne:
        return (
            f"The database is newer than this release ({VERSION}) bears: {found.unborne[0]} took "
            "something away that it uses. Start the release that the migration's name says, or a "
            "later one."
        )
    if found.lacking:
        return (
            f"The database is older than this release ({VERSION}): it lacks {len(found.lacking)} "
            f"migrations, the first is {found.lacking[0]}. Run `manage.py migrate` before the "
            "processes of this release start."
        )
    return None


def _is_borne(migration: str) -> bool:
    since = SINCE.search(migration)
    major, minor, *_patch = VERSION.split(".")
    return since is None or (int(major), int(minor)) >= (int(since[1]), int(since[2]))
