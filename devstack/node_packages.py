"""Programs for Node: each is a directory whose lock file names the packages that it needs."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from devstack.state import ROOT

PLACE = ROOT / ".local" / "node"
INSTALL = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]


class NoNode(Exception):
    """The machine has no Node, or no npm."""


def installed(program: Path) -> Path:
    """Return a copy of a program with its packages, which are fetched when the program is new.

    :raises NoNode: the machine cannot run it.
    """
    if not (shutil.which("node") and shutil.which("npm")):
        raise NoNode("Node and npm are not installed")
    place = PLACE / f"{program.name}-{_digest(program)}"
    if not place.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        # In another directory first: two may install at once, and an installation may be cut off.
        with tempfile.TemporaryDirectory(dir=PLACE) as directory:
            made = Path(directory) / "made"
            shutil.copytree(program, made, ignore=shutil.ignore_patterns("node_modules"))
            subprocess.run(INSTALL, cwd=made, check=True, capture_output=True)
            _move(made, place)
    return place


def _digest(program: Path) -> str:
    whole = hashlib.sha256()
    for file in sorted(file for file in program.iterdir() if file.is_file()):
        whole.update(f"{file.name}\0".encode() + file.read_bytes())
    return whole.hexdigest()[:16]


def _move(made: Path, place: Path) -> None:
    try:
        made.rename(place)
    except OSError:
        if not place.exists():  # Else another process was faster, with the same files.
            raise
