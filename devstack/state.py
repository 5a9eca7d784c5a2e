"""The places of a checkout's sandbox: its directories and locks, readable by their owner only.

Standard library only: `./dev reset` runs it without the environment.
"""

import fcntl
import os
import pwd
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
# Not tempfile.gettempdir(): a Unix socket's path ends at 107 bytes, and TMPDIR may be long.
SHORT = Path("/tmp")  # noqa: S108
ROOTS_DATA = Path("/var/tmp")  # noqa: S108
ONE_DAY_SECONDS = 86_400
LEFTOVERS_PATIENCE_SECONDS = 15


class CannotContinue(Exception):
    """A `./dev` command cannot go on; its text is the sentence that the developer reads."""


def state_directory() -> Path:
    """Return (and make) the private directory of this checkout, or the one DEV_STATE names."""
    state = Path(os.environ.get("DEV_STATE") or ROOT / ".local").resolve()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.chmod(0o700)
    return state


def logs() -> Path:
    """Return (and make) the directory of the lines that the processes of one `./dev up` write."""
    directory = state_directory() / "log"
    directory.mkdir(exist_ok=True)
    return directory


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def remembered_secret(path: Path, *, length_bytes: int) -> str:
    """Return the random text kept in the file, made on the first call."""
    if not path.exists():
        write_private(path, secrets.token_hex(length_bytes))
    return path.read_text().strip()


# --- Directories outside the checkout -------------------------------------------------------


def socket_directory(state: Path) -> Path:
    # Named by a random id, not by the checkout's path: a clone made again at the same
    # path must not find the sockets and data of the one before.
    return SHORT / f"devstack-{os.getuid()}-{_identity(state)}"


def data_directory(state: Path) -> Path:
    """Return the directory of the database's files.

    PostgreSQL refuses to run as root, and the user it then runs as cannot look into
    root's home: root's data lies outside the checkout.
    """
    return ROOTS_DATA / f"devstack-{_identity(state)}" if os.getuid() == 0 else state


def _identity(state: Path) -> str:
    return remembered_secret(state / "id", length_bytes=4)


def server_user() -> pwd.struct_passwd:
    """Return the user that PostgreSQL runs as: oneself, or a harmless user for root."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise CannotContinue(
        "PostgreSQL does not run as root, and there is no user `nobody` to run it as."
    )


def private_directory(path: Path) -> Path:
    """Make a directory that is closed to all but the servers' user (and root).

    :raises CannotContinue: another user made it first.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    owner = path.lstat().st_uid
    if path.is_symlink() or owner not in (os.getuid(), server_user().pw_uid):
        raise CannotContinue(f"{path} belongs to another user.")
    path.chmod(0o700)
    if owner != server_user().pw_uid:
        os.chown(path, server_user().pw_uid, -1)
    return path


# --- Locks ----------------------------------------------------------------------------------


def try_lock(path: Path) -> IO[str] | None:
    """Return the file, locked until it is closed or its process dies; None if it is taken."""
    # Never through a link: temporary directories are shared with strangers.
    file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w")  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


@contextmanager
def only_launcher(state: Path) -> Iterator[None]:
    """Be the one `up` or `reset` of this checkout.

    :raises CannotContinue: an `up` runs.
    """
    lock = try_lock(state / "up.lock")
    if lock is None:
        raise CannotContinue("./dev up is already running in this checkout; stop it first.")
    with lock:
        yield


def wait_for_leftovers(state: Path) -> IO[str]:
    """Return the leash's lock, once the processes of a killed launcher are gone.

    :raises CannotContinue: they do not end.
    """
    deadline = time.monotonic() + LEFTOVERS_PATIENCE_SECONDS
    while (lock := try_lock(state / "leash.lock")) is None:
        if time.monotonic() > deadline:
            raise CannotContinue("The processes of the last ./dev up do not end; stop them first.")
        time.sleep(0.05)
    return lock


def launcher_runs(state: Path) -> bool:
    lock = try_lock(state / "up.lock")
    if lock is None:
        return True
    lock.close()
    return False


# --- What a killed process left behind ------------------------------------------------------


def sweep() -> None:
    """Remove own temporary directories older than a day that no living process uses."""
    for directory in SHORT.glob("devstack-*"):
        if directory.is_dir() and _is_ours(directory) and _is_left_over(directory):
            shutil.rmtree(directory, ignore_errors=True)


def in_use_lock(directory: Path) -> IO[str]:
    """Mark a temporary directory as used by this process, so that no sweep takes it."""
    lock = try_lock(directory / "in-use")
    if lock is None:
        raise CannotContinue(f"{directory} is used by another process.")
    return lock


def _is_ours(directory: Path) -> bool:
    return directory.lstat().st_uid in (os.getuid(), server_user().pw_uid)


def _is_left_over(directory: Path) -> bool:
    if time.time() - directory.lstat().st_mtime < ONE_DAY_SECONDS:
        return False
    lock = try_lock(directory / "in-use")
    if lock is None:
        return False
    lock.close()
    return True
