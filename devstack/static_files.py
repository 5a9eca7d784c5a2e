"""Static files of the sandbox and of the tests: collected once, and again when one changed."""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from devstack.state import ROOT

SOURCES = (ROOT / "panel" / "static", ROOT / "testbank" / "static")
# Also decide what is collected: the packages that bring files, and the settings of the collection.
ALSO = (
    ROOT / "requirements.txt",
    ROOT / "panel" / "static_files.py",
    ROOT / "config" / "settings" / "http.py",
)
STAMP = ".collected"


def collect_if_changed(directory: Path, collect: Callable[[], object]) -> None:
    """Run `collect`, which fills the directory, unless these files were collected already.

    Processes that ask for the same directory at once wait for the first of them.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory.parent / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = directory / STAMP, digest()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        # Forgotten first: what is broken off is done again.
        stamp.unlink(missing_ok=True)
        collect()
        stamp.write_text(wanted)


def digest() -> str:
    """Return a digest of everything that the collected files depend on."""
    whole = hashlib.sha256()
    for file in _files():
        whole.update(str(file.relative_to(ROOT)).encode() + b"\0")
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _files() -> Iterator[Path]:
    yield from ALSO
    for source in SOURCES:
        yield from sorted(file for file in source.rglob("*") if file.is_file())
