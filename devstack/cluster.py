"""The files of a PostgreSQL whose databases `app` and `bank` are migrated, kept for the next run.

Making and migrating them takes seconds for each worker of a run and each test with servers of
its own; unpacking what was kept takes a quarter of a second. They are kept in one archive, named
by what they are made of. It is renamed into place when it is whole, and readers keep it open:
runs at the same time can neither meet half of it nor lose it to a sweep.
"""

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from devstack import environment, migrations, processes, storage
from devstack.servers import THROW_AWAY_OPTIONS, Servers
from devstack.state import ONE_DAY_SECONDS, ROOT, CannotContinue, state_directory

# The files depend on these beside the migrations: the columns' types, Django's own migrations
# and PostgreSQL's version, and how the files are made.
MADE_BY = ("core/fields.py", "requirements-up.txt", "devstack/servers.py", "devstack/cluster.py")


def throw_away(options: dict[str, str] = THROW_AWAY_OPTIONS) -> Servers:
    """Return throw-away servers, not started, whose databases are migrated already."""
    servers = Servers.throw_away(options)
    with ExitStack() as undo:
        undo.callback(servers.stop)
        with open(kept()) as archive:
            _tar("-x", servers.data, stdin=archive)
        undo.pop_all()
    return servers


def kept() -> Path:
    """Return the archive, made now if no run before has made it."""
    state = state_directory()
    archive = state / f"migrated-{_digest()}.tar"
    with _one_at_a_time(state):
        if not archive.exists():
            _make(archive)
        os.utime(archive)  # Its age tells the sweep when it was used last.
        _sweep(state)
    return archive


def fits(root: Path) -> bool:
    """Return whether code in another directory would make and migrate the same files."""
    return _digest(root) == _digest()


def _sweep(state: Path) -> None:
    # Archives that no run has used for a day are of other migrations, or half written.
    for archive in state.glob("migrated-*"):
        if time.time() - archive.stat().st_mtime > ONE_DAY_SECONDS:
            archive.unlink(missing_ok=True)


def _digest(root: Path = ROOT) -> str:
    parts = [repr(sorted(migrations.digests(root).items())).encode()]
    files = [root / name for name in MADE_BY]
    parts += [file.read_bytes() if file.exists() else b"" for file in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextmanager
def _one_at_a_time(state: Path) -> Iterator[None]:
    with open(state / "migrated.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(archive: Path) -> None:
    servers = Servers.throw_away()
    try:
        servers.start_postgres()
        _migrate(servers)
        # A clean stop: what is unpacked must not have to be recovered at each start.
        processes.stop([servers.processes.pop("postgres")], signal_number=signal.SIGINT)
        draft = archive.with_suffix(".new")
        with open(draft, "wb") as file:
            _tar("-c", servers.data, stdout=file)
        draft.rename(archive)
    finally:
        servers.stop()


def _migrate(servers: Servers) -> None:
    """Migrate both databases at once."""
    places = storage.Storage(
        servers.database_address("app"),
        servers.database_address("bank"),
        environment.NOWHERE.redis_url,
        servers.owners_address("app"),
        servers.owners_address("bank"),
    )
    for url in places.owners_urls:
        storage.make_if_missing(url)
    with tempfile.TemporaryDirectory() as secrets:
        settings = {**os.environ, **environment.throw_away(places, Path(secrets))}
        running = [_start_migration(alias, settings) for alias in ("default", "bank")]
        said = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise CannotContinue("The test databases cannot be migrated:\n" + "".join(said)[-2000:])


def _start_migration(alias: str, settings: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks", "--database", alias],
        cwd=ROOT,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _tar(
    action: str, directory: Path, *, stdin: IO[Any] | None = None, stdout: IO[Any] | None = None
) -> None:
    # The program, which keeps owners and modes, and is three times as fast as Python's module.
    directory.parent.mkdir(exist_ok=True)
    command: list[str | Path] = [
        "tar",
        action,
        "-p",
        "-C",
        directory.parent,
        "-f",
        "-",
        directory.name,
    ]
    subprocess.run(command, check=True, stdin=stdin, stdout=stdout)
