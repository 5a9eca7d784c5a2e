"""A real streaming standby of a test's own servers, and a pair that fails over."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import make_conninfo

from devstack import binaries, cluster
from devstack.servers import OWNER, SUPERUSER, Servers
from tests.stage.own_servers import PATIENCE_SECONDS, wait_for_orphans

IS_WAITED_FOR = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"


@contextmanager
def standby_of(original: Servers, address: str) -> Iterator[Servers]:
    """Start a standby from a base backup, and stop it when the block ends.

    :param address: of the original's superuser.
    """
    standby = Servers.throw_away(dict(original.options))
    try:
        follow(standby, address)
        yield standby
    finally:
        standby.stop()


def follow(standby: Servers, address: str) -> None:
    """Start servers as a standby, from a base backup.

    :param address: of the original's superuser.
    """
    backup = ["-D", str(standby.data), "-R", "-X", "stream", "-c", "fast"]
    command = [str(binaries.postgres_bin() / "pg_basebackup"), "-d", address, *backup]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        **binaries.as_server_user(),
    )
    assert done.returncode == 0, done.stderr
    standby.start_postgres()


def superusers(address: str, at: Servers | None = None) -> str:
    """Return the address of a database's superuser, at these servers."""
    host = {"host": str(at.sockets)} if at else {}
    return make_conninfo(address, user=SUPERUSER, **host)


class Pair:
    """Two clusters: with each commit the one that leads waits for the other's disk."""

    def __init__(self) -> None:
        durable = {"synchronous_commit": "on"}
        self.leading, self.following = cluster.throw_away(), Servers.throw_away()
        for servers in (self.leading, self.following):
            servers.options |= durable
        self.leading.start_postgres()
        self._hosts = f"{self.leading.sockets},{self.following.sockets}"
        self.join()

    def address(self, role: str = "app", target: str = "read-write") -> str:
        """Return the address that names both hosts, for one of the roles."""
        return f"postgresql://{role}@/app?host={self._hosts}&target_session_attrs={target}"

    def address_of_leading(self) -> str:
        return f"postgresql://app@/app?host={self.leading.sockets}"

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses of the service's database."""
        return {"DATABASE_URL": self.address(), "OWNER_DATABASE_URL": self.address(OWNER)}

    def fail_over(self) -> float:
        """Kill the one that leads and promote the other; return when it could be written to."""
        self.leading, self.following = self.following, self.leading
        self.kill_following()
        with self._superuser() as raw:
            raw.execute("SELECT pg_promote(wait => true)")
        return time.monotonic()

    def join(self) -> None:
        """Let the one that does not run follow the other, which waits for it from then on."""
        shutil.rmtree(self.following.data, ignore_errors=True)
        follow(self.following, make_conninfo(host=str(self.leading.sockets), user=SUPERUSER))
        with self._superuser() as raw:
            raw.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            raw.execute("SELECT pg_reload_conf()")
        self._await(IS_WAITED_FOR)

    def kill_following(self) -> None:
        process = self.following.processes.pop("postgres")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
        wait_for_orphans(self.following)

    def bring_back(self) -> None:
        """Start the dead one as it was: a second primary, which knows nothing of the failover."""
        self.following.options |= {"synchronous_standby_names": ""}
        self.following.start_postgres()

    def stop_waiting(self) -> None:
        """Let no commit wait for the standby any more, as a cluster manager may."""
        with self._superuser() as raw:
            raw.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            raw.execute("SELECT pg_reload_conf()")
        self._await("SELECT 1 WHERE current_setting('synchronous_standby_names') = ''")

    def cut(self) -> None:
        """Let the standby get no more of what is written."""
        with self._superuser(self.following) as raw:
            raw.execute("ALTER SYSTEM SET primary_conninfo = ''")
            raw.execute("SELECT pg_reload_conf()")
        self._await("SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_replication)")

    def await_standby(self) -> None:
        """Wait until the standby has on its disk what is written by now."""
        with self._superuser() as raw:
            [position] = raw.execute("SELECT pg_current_wal_lsn()").fetchone() or [None]
        reached = f"SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= '{position}'"  # noqa: S608
        self._await(reached)

    def stop(self) -> None:
        for servers in (self.following, self.leading):
            servers.stop()

    def _await(self, fact: str) -> None:
        """Wait until the one that leads has a row of this statement."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._superuser() as raw:
            while not raw.execute(fact).fetchone():
                assert time.monotonic() < deadline, fact
                time.sleep(0.02)

    def _superuser(self, at: Servers | None = None) -> psycopg.Connection:
        host = str((at or self.leading).sockets)
        return psycopg.connect(host=host, user=SUPERUSER, dbname="app", autocommit=True)
