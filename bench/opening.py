"""Opening stages: the servers of a run and the service's settings on them; all of it is ended."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import sql_log
from bench.stage import Stage
from devstack import cluster, environment, storage, up
from devstack.ports import take_port
from devstack.processes import Leash
from devstack.servers import Servers
from devstack.state import ROOT, CannotContinue, state_directory

MAKE_KEYRING = (
    "import sys; from pathlib import Path; from devstack import environment;"
    " environment.make_keyring(Path(sys.argv[1]))"
)
# All clients are one merchant's, and refusals by its rate limit are not what is measured.
NO_LIMITS = {"RATE_LIMIT_PER_SECOND": "0"}


@contextmanager
def stage(leash: Leash) -> Iterator[Stage]:
    """Start the servers of a run, and always stop them."""
    chosen = ports("BENCH", web=8200, bank=8300)
    with _opened(leash, chosen, _empty_directory("bench"), ROOT) as opened:
        yield opened


@contextmanager
def stage_beside(leash: Leash, root: Path = ROOT) -> Iterator[Stage]:
    """Start a second set of servers, for a service that runs at the same time as the first.

    :param root: the directory of its code.
    """
    chosen = ports("BENCH_BESIDE", web=8400, bank=8500)
    with _opened(leash, chosen, _empty_directory("bench-beside"), root) as opened:
        yield opened


@contextmanager
def code_of(commit: str) -> Iterator[Path]:
    """Return a directory with the code of a commit of this checkout, while the block runs.

    :raises CannotContinue: there is no such commit.
    """
    with tempfile.TemporaryDirectory(prefix="devstack-beside-") as directory:
        packed = Path(directory) / "code.tar"
        # Nothing that looks like an option gets here: git would take it for one.
        command = ["git", "archive", "--output", str(packed), "--end-of-options", commit]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise CannotContinue(f"There is no code of {commit}: {done.stderr.strip()}")
        root = Path(directory) / "code"
        with tarfile.open(packed) as archive:
            archive.extractall(root, filter="data")
        yield root


@contextmanager
def _opened(leash: Leash, chosen: up.Ports, directory: Path, root: Path) -> Iterator[Stage]:
    is_migrated = cluster.fits(root)
    make = cluster.throw_away if is_migrated else Servers.throw_away
    servers = make(sql_log.LOG_OPTIONS)
    with tempfile.TemporaryDirectory(prefix="devstack-secrets-") as kept_secret:
        try:
            places = _of_its_time(root, _started(servers, leash))
            ours = environment.sandbox(
                places,
                base_url=chosen.base_url,
                bank_url=chosen.bank_url,
                secret_key=secrets.token_urlsafe(50),
                keyring_file=_keyring_of(root, Path(kept_secret) / "keyring"),
            )
            yield Stage(
                places=places,
                postgres_log=servers.logs / "postgres.log",
                ports=chosen,
                environment={**os.environ, **ours, **NO_LIMITS},
                directory=directory,
                leash=leash,
                pids={"postgres": servers.processes["postgres"].pid},
                root=root,
                is_migrated=is_migrated,
            )
        finally:
            signal.alarm(0)  # Stopping is not to be broken off.
            servers.stop()


def _started(servers: Servers, leash: Leash) -> storage.Storage:
    # Not the developer's own servers: the measurement fills and alters them.
    places = storage.open_storage(servers, {})
    for process in servers.processes.values():
        leash.hold(process)
    return places


def _keyring_of(root: Path, path: Path) -> Path:
    """Make a key ring by the code in a directory: another version's may have another form."""
    command = [sys.executable, "-c", MAKE_KEYRING, str(path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise CannotContinue(f"{root} makes no key ring: {done.stderr.strip()}")
    return path


def _of_its_time(root: Path, places: storage.Storage) -> storage.Storage:
    """Return the places for the code in a directory: before there were two roles, one did all."""
    if (root / "core/postgresql/roles.py").exists():
        return places
    app, bank = places.owners_urls
    return storage.Storage(app, bank, places.redis_url)


def ports(variable: str, *, web: int, bank: int) -> up.Ports:
    """Take ports from these numbers on, or those that `VARIABLE_PORT` and its like name."""
    return up.Ports(
        take_port(variable=f"{variable}_PORT", first=web),
        take_port(variable=f"{variable}_BANK_PORT", first=bank),
    )


def _empty_directory(name: str) -> Path:
    """Return where the processes' lines and the floors' scripts are kept until the next run."""
    directory = state_directory() / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    return directory
