"""Real dumps of the tests' database, restored to a copy that the service then uses."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection

from devstack import binaries
from tests.stage.database_role import owners_address

END_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = %s AND backend_type = 'client backend'
"""


def program(name: str, *arguments: str) -> None:
    command = [str(binaries.postgres_bin() / name), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PGUSER": "app"}
    )
    assert done.returncode == 0, done.stderr


def dump(to: Path) -> None:
    program("pg_dump", "-Fc", "-f", str(to), "-d", owners_address())


@contextmanager
def restored_from(dumped: Path) -> Iterator[None]:
    """Let the service use a database that the dump is restored to, beside the living original."""
    original = connection.settings_dict["NAME"]
    copy = f"copy_of_{original}"
    address = owners_address()
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f'DROP DATABASE IF EXISTS "{copy}"')
        owner.execute(f'CREATE DATABASE "{copy}" TEMPLATE template0')
    program("pg_restore", "--exit-on-error", "-d", address.replace(original, copy), str(dumped))
    connection.close()
    connection.settings_dict["NAME"] = copy
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = original
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute(END_SESSIONS, [copy])
            # PostgreSQL ends an autovacuum there by itself, which `FORCE` may not.
            owner.execute(f'DROP DATABASE "{copy}"')
