"""A real standby: in recovery it is no copy, and once it is promoted it is held at once."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from core import installation
from devstack import binaries
from devstack.servers import SUPERUSER, Servers
from tests.stage.own_servers import PATIENCE_SECONDS

pytestmark = pytest.mark.slow


@contextmanager
def standby_of(original: Servers, address: str) -> Iterator[str]:
    """Start a standby from a base backup; yield its address."""
    standby = Servers.throw_away(dict(original.options))
    backup = ["-D", str(standby.data), "-R", "-X", "stream", "-c", "fast"]
    command = [str(binaries.postgres_bin() / "pg_basebackup"), "-d", address, *backup]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        **binaries.as_server_user(),
    )
    try:
        assert done.returncode == 0, done.stderr
        standby.start_postgres()
        yield make_conninfo(address, host=str(standby.sockets))
    finally:
        standby.stop()


def is_held(address: str) -> bool:
    with psycopg.connect(address) as raw:
        return bool(raw.execute(f"SELECT {installation.IS_HELD_COLUMN}").fetchone()[0])


def test_a_promoted_standby_is_held_by_its_first_statement(
    own_servers: Servers, own_settings: dict[str, str]
) -> None:
    address = make_conninfo(own_settings["DATABASE_URL"], user=SUPERUSER)
    with psycopg.connect(address) as raw:
        raw.execute(installation.FOUND)

    with standby_of(own_servers, address) as standby:
        in_recovery = is_held(standby)
        with psycopg.connect(standby, autocommit=True) as raw:
            raw.execute("SELECT pg_promote(wait => true)")
        promoted = is_held(standby)

    assert (is_held(address), in_recovery, promoted) == (False, False, True)
