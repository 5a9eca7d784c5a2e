"""The rights of the role that the service connects to its database as."""

from typing import Any

from django.db import connections
from psycopg.conninfo import make_conninfo

from devstack.servers import SUPERUSER

RIGHTS = """
SELECT rolsuper, rolcreaterole, rolreplication, rolbypassrls,
    EXISTS (SELECT FROM pg_auth_members WHERE member = pg_roles.oid) AS is_member_of_another,
    (SELECT datdba FROM pg_database WHERE datname = current_database()) = oid AS owns_the_database
FROM pg_roles WHERE rolname = current_user
"""
A_PLAIN_OWNER = (False, False, False, False, False, True)


def rights(cursor: Any) -> tuple[bool, ...]:
    cursor.execute(RIGHTS)
    return cursor.fetchone()


def as_superuser(alias: str = "default") -> str:
    """Return the address of a test database for the superuser of its server."""
    ours = connections[alias].settings_dict
    return make_conninfo("", host=ours["OPTIONS"]["host"], user=SUPERUSER, dbname=ours["NAME"])
