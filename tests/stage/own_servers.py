"""Servers of a test's own, which it may kill: a database, Redis, and the service on them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from psutil import process_iter

from devstack import cluster, environment, storage
from devstack.servers import Servers
from devstack.state import ROOT

# A hang is ended after this.
PATIENCE_SECONDS = 300


@contextmanager
def throw_away() -> Iterator[Servers]:
    """Servers whose databases are migrated and empty; they are stopped when the block ends."""
    servers = cluster.throw_away()
    # A commit that was answered must outlive the server; the machine itself does not crash here.
    servers.options |= {"synchronous_commit": "on"}
    yield servers
    servers.stop()


def migrated(
    servers: Servers, home: Path, given: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Start servers that come migrated, and return the environment of the service on them.

    :param given: addresses of what was started before, and what else the service is to be told
    """
    places = storage.open_storage(servers, given)
    return {**given, **environment.throw_away(places, home), "REQUEST_LEASE_SECONDS": "2"}


def manage(settings: dict[str, str], *command: str, code: Path = ROOT) -> str:
    """:param code: the directory of the release whose command it is."""
    return run(settings, "manage.py", *command, code=code)


def run(settings: dict[str, str], *command: str, code: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=code,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


def restart(
    servers: Servers, signal_number: int, *, while_away: Callable[[], None] = lambda: None
) -> None:
    """:param while_away: returns when the database may come back."""
    process = servers.processes["postgres"]
    process.send_signal(signal_number)
    process.wait(PATIENCE_SECONDS)
    while_away()
    if signal_number == signal.SIGKILL:
        wait_for_orphans(servers)
    servers.start_postgres()


def wait_for_orphans(servers: Servers) -> None:
    """Wait until the children of a killed postmaster have ended: they do so by themselves.

    A new one would refuse to start beside them.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(process.info["cwd"] == str(servers.data) for process in process_iter(["cwd"])):
        assert time.monotonic() < deadline, "PostgreSQL's children do not end"
        time.sleep(0.02)
    (servers.data / "postmaster.pid").unlink(missing_ok=True)
