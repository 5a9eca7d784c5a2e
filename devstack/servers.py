"""A private PostgreSQL and a private Valkey on Unix sockets."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psycopg

from devstack import binaries, pooler, processes
from devstack.state import (
    SHORT,
    CannotContinue,
    data_directory,
    in_use_lock,
    private_directory,
    server_user,
    socket_directory,
    state_directory,
)

START_PATIENCE_SECONDS = 30
POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    # Containers often have a tiny /dev/shm.
    "dynamic_shared_memory_type": "mmap",
    "logging_collector": "off",
    "log_min_messages": "warning",
    # An error prints neither the statement nor the neighbouring columns.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
# The owner makes the databases and migrates them. The service's role has what `migrate` gives it.
SUPERUSER, OWNER = "postgres", "owner"
MAKE_ROLES = f"CREATE ROLE {OWNER} LOGIN CREATEDB;\nCREATE ROLE app LOGIN NOINHERIT;\n"
# Tests and benchmarks plant rows that the guards would refuse, as a hand at the console could: they
# say so each time, by `SET ROLE` (tests.stage.ownership). NOINHERIT: otherwise app has no more.
LET_PAST_GUARDS = (
    f"GRANT SET ON PARAMETER session_replication_role TO {OWNER};\nGRANT {OWNER} TO app;\n"
)
THROW_AWAY_OPTIONS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
}


class Servers:
    """The servers that were started, and the addresses of all that are to be used."""

    def __init__(self, *, sockets: Path, data: Path, logs: Path, options: dict[str, str]) -> None:
        self.sockets = private_directory(sockets)
        self.data = data
        self.logs = logs
        self.options = POSTGRES_OPTIONS | options
        self.roles = MAKE_ROLES
        self.processes: dict[str, subprocess.Popen] = {}
        self._in_use: IO[str] = in_use_lock(sockets)

    @classmethod
    def lasting(cls) -> "Servers":
        """Servers whose data stays until `./dev reset`."""
        state = state_directory()
        home = data_directory(state)
        if home != state:
            private_directory(home)
        data = home / f"pg{binaries.POSTGRES_MAJOR}"
        return cls(sockets=socket_directory(state), data=data, logs=state, options={})

    @classmethod
    def throw_away(cls, options: dict[str, str] = THROW_AWAY_OPTIONS) -> "Servers":
        """Servers for one run of the tests: all they have lies in one temporary directory."""
        home = Path(tempfile.mkdtemp(prefix="devstack-test-", dir=SHORT))
        servers = cls(sockets=home, data=home / "pg", logs=home, options=options)
        servers.roles += LET_PAST_GUARDS
        return servers

    def start_postgres(self) -> None:
        """Start PostgreSQL, making its files first if need be."""
        programs = binaries.postgres_bin()
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster(programs)
        options = self.options | {"unix_socket_directories": str(self.sockets)}
        settings = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for its clients.
        process = self._spawn(
            "postgres", [programs / "postgres", "-D", self.data, *settings], signal.SIGINT
        )
        self._wait(process, "postgres", _postgres_answers, self.sockets)
        _require_owner(self.sockets)

    def database_address(self, name: str) -> str:
        """Return where a database is reached: through the pooler, if there is one."""
        port = f"&port={pooler.PORT}" if "pgbouncer" in self.processes else ""
        # The host as a parameter: both libpq and django-environ read this form.
        return f"postgresql://app@/{name}?host={self.sockets}{port}"

    def owners_address(self, name: str) -> str:
        """Return where a database's owner reaches it: never through a pooler."""
        return f"postgresql://{OWNER}@/{name}?host={self.sockets}"

    def start_pgbouncer(self, extra: str = "") -> None:
        """Start PgBouncer before PostgreSQL, as Debian ships it.

        :param extra: further lines of its configuration
        """
        command = [pooler.program(), "-q", str(pooler.write_configuration(self.sockets, extra))]
        process = self._spawn("pgbouncer", command, signal.SIGTERM)
        self._wait(process, "pgbouncer", pooler.answers, self.sockets)

    def start_behind_pooler(self) -> dict[str, str]:
        """Start PostgreSQL and PgBouncer before it; return the service's settings."""
        self.start_postgres()
        pooler.give_role_its_limits(self.sockets)
        self.start_pgbouncer()
        return {
            "DATABASE_URL": self.database_address("app"),
            "BANK_DATABASE_URL": self.database_address("bank"),
            "OWNER_DATABASE_URL": self.owners_address("app"),
            "OWNER_BANK_DATABASE_URL": self.owners_address("bank"),
            "BEHIND_POOLER": "true",
        }

    def start_valkey(self) -> str:
        """Start Valkey without persistence: it may hold an encrypted CVC for minutes.

        :return: its address in redis-py's form
        """
        socket_path = self.sockets / "v.sock"
        socket_path.unlink(missing_ok=True)
        command = [str(binaries.valkey_server()), "--port", "0"]
        command += ["--unixsocket", str(socket_path), "--unixsocketperm", "700"]
        command += ["--dir", str(self.sockets), "--save", "", "--appendonly", "no"]
        process = self._spawn("valkey", [*command, "--loglevel", "warning"], signal.SIGTERM)
        self._wait(process, "valkey", _valkey_answers, socket_path)
        return f"unix://{socket_path}"

    def stop(self) -> None:
        # At once: at SIGINT it would wait for its clients.
        if pgbouncer := self.processes.pop("pgbouncer", None):
            processes.stop([pgbouncer])
        processes.stop(list(self.processes.values()), signal_number=signal.SIGINT)
        shutil.rmtree(self.sockets, ignore_errors=True)
        self._in_use.close()

    def _make_cluster(self, programs: Path) -> None:
        """Make the files aside and rename them: they are there whole, with the role, or not at all.

        :raises CannotContinue: PostgreSQL's programs fail.
        """
        draft = self.data.with_suffix(".new")
        for files in (draft, self.data):
            shutil.rmtree(files, ignore_errors=True)
        draft.mkdir(mode=0o700)
        os.chown(draft, server_user().pw_uid, -1)
        command = [str(programs / "initdb"), "-D", str(draft)]
        command += ["-U", SUPERUSER, "-A", "trust", "-E", "UTF8"]
        # Never the caller's locale: text would sort differently on every machine.
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += ["-c", "dynamic_shared_memory_type=mmap", "--no-sync", "--no-instructions"]
        _run(command)
        options = ["-c", "exit_on_error=on", "-c", "dynamic_shared_memory_type=mmap"]
        _run(
            [str(programs / "postgres"), "--single", *options, "-D", str(draft), "postgres"],
            self.roles,
        )
        draft.rename(self.data)

    def _spawn(self, name: str, command: processes.Command, dies_by: int) -> subprocess.Popen:
        options = {"cwd": "/"} if name == "valkey" else binaries.as_server_user()
        with open(self.logs / f"{name}.log", "wb") as log:
            process = processes.spawn(
                command, dies_by=dies_by, stdout=log, stderr=subprocess.STDOUT, **options
            )
        self.processes[name] = process
        return process

    def _wait(
        self,
        process: subprocess.Popen,
        name: str,
        answers: Callable[..., bool],
        *arguments: object,
    ) -> None:
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        while not answers(*arguments):
            if process.poll() is not None or time.monotonic() > deadline:
                log = (self.logs / f"{name}.log").read_text(errors="replace")
                raise CannotContinue(f"{name} did not start:\n{log[-2000:]}")
            time.sleep(0.02)


def _run(command: list[str], given: str = "") -> None:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, **binaries.as_server_user()
    )
    if done.returncode:
        raise CannotContinue(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")


def _postgres_answers(sockets: Path) -> bool:
    try:
        psycopg.connect(host=str(sockets), user="app", dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True


def _require_owner(sockets: Path) -> None:
    """:raises CannotContinue: the files are of a time when one role did all."""
    with psycopg.connect(host=str(sockets), user="app", dbname="postgres") as connection:
        found = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone()
    if found is None:
        raise CannotContinue(
            "The sandbox's PostgreSQL has no role that owns its databases: run ./dev reset"
        )


def _valkey_answers(socket_path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(socket_path)) == 0
