"""The roles of the tests' databases: the service's, their owner, and the server's superuser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import connections, transaction
from psycopg.conninfo import make_conninfo

from core.postgresql import roles
from devstack.servers import SUPERUSER

RIGHTS = """
SELECT rolsuper, rolcreaterole, rolreplication, rolbypassrls,
    rolcreatedb, EXISTS (SELECT FROM pg_auth_members WHERE member = pg_roles.oid AND pg_has_role(
        pg_roles.oid, roleid, 'USAGE')) AS has_the_rights_of_another,
    (SELECT datdba FROM pg_database WHERE datname = current_database()) = oid AS owns_the_database
FROM pg_roles WHERE rolname = current_user
"""
THE_SERVICES_ROLE = (False,) * 7


PLACE = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
_owners: dict[str, dict[str, Any]] = {}
_services: dict[str, dict[str, Any]] = {}


def connect_as_owners() -> None:
    """Make all connections of the service its owners', until `connect_as_service`."""
    if not _owners:
        _owners.update(settings.OWNER_DATABASES)
        for alias in _owners:
            ours = connections[alias].settings_dict
            _services[alias] = {name: ours[name] for name in PLACE}
    settings.OWNER_DATABASES = {}
    for alias, address in _owners.items():
        connections[alias].close()
        connections[alias].settings_dict.update({name: address[name] for name in PLACE})


def connect_as_service() -> None:
    for alias, address in _services.items():
        # A database that is no copy was migrated without a service's role.
        roles.give_rights(alias, address["USER"])
        connections[alias].close()
        connections[alias].settings_dict.update(address)
        _owners[alias]["NAME"] = connections[alias].settings_dict["NAME"]
    settings.OWNER_DATABASES = _owners


def rights(cursor: Any) -> tuple[bool, ...]:
    cursor.execute(RIGHTS)
    return cursor.fetchone()


@contextmanager
def as_owner(alias: str = "default") -> Iterator[Any]:
    """Do in one transaction what the owner of the tables may, on the service's own connection.

    The tests' servers alone let the service's role become the owner (devstack.servers). Behind a
    pooler the role may not outlive the transaction.
    """
    owner = settings.OWNER_DATABASES.get(alias)
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        if owner:
            cursor.execute(f'SET LOCAL ROLE "{owner["USER"]}"')
        yield cursor
        if owner:
            cursor.execute("SET LOCAL ROLE NONE")


@contextmanager
def past_guards(alias: str = "default") -> Iterator[Any]:
    """Do as the owner what triggers and foreign keys would refuse."""
    with as_owner(alias) as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        cursor.execute("SET LOCAL session_replication_role = origin")


def owners_address(alias: str = "default") -> str:
    """Return the address of a test database for its owner."""
    ours, owner = connections[alias].settings_dict, settings.OWNER_DATABASES.get(alias)
    user = (owner or ours)["USER"]
    return make_conninfo("", host=ours["OPTIONS"]["host"], user=user, dbname=ours["NAME"])


def as_superuser(alias: str = "default") -> str:
    """Return the address of a test database for the superuser of its server."""
    ours = connections[alias].settings_dict
    return make_conninfo("", host=ours["OPTIONS"]["host"], user=SUPERUSER, dbname=ours["NAME"])


def analyze(tables: str) -> None:
    """Count the rows of tables for the planner, which their owner may."""
    with as_owner() as cursor:
        cursor.execute(f"ANALYZE {tables}")


def vacuum(tables: str) -> None:
    """Clean tables and count their rows: not in a transaction, and not behind a pooler."""
    owner = settings.OWNER_DATABASES.get("default")
    with connections["default"].cursor() as cursor:
        if owner:
            cursor.execute(f'SET ROLE "{owner["USER"]}"')
        cursor.execute(f"VACUUM (ANALYZE) {tables}")
        if owner:
            cursor.execute("RESET ROLE")
