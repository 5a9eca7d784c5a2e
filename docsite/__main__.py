"""`./dev docs`: build the documentation's site; `./dev docs DIRECTORY` builds it elsewhere.

A warning, a link that leads nowhere, or an inline script or style fails the build. The site of
before stays then.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sphinx.cmd.build import build_main

from devstack import environment
from devstack.console import write
from devstack.state import ROOT
from docsite import findings, sources

BUILT = ROOT / "builtdocs"
STAMP = ".built"
LOWEST_PRIORITY = 19
# No page is made of them.
APART = ("tests", "bench", BUILT.name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev docs", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=BUILT)
    parser.add_argument("--if-changed", action="store_true", help="do nothing if nothing changed")
    parser.add_argument("--patiently", action="store_true", help="let all other processes go first")
    asked = parser.parse_args()
    place = asked.directory.resolve()
    if asked.patiently:
        os.nice(LOWEST_PRIORITY)
    with only_one_builds(place):
        digest = digest_of_sources()
        if asked.if_changed and _stamp_of(place) == digest:
            return 0
        return build_and_replace(place, digest)


def build_and_replace(place: Path, digest: str) -> int:
    with tempfile.TemporaryDirectory(prefix="docsite-") as directory:
        room = Path(directory)
        # Pages are made from the code too, which reads settings; it asks no database.
        os.environ.update(environment.throw_away(environment.NOWHERE, room))
        built = room / "site"
        status = build(room / "sources", built)
        if status == 0:
            (built / STAMP).write_text(digest)
            replace(place, built)
    return status


def build(source: Path, built: Path) -> int:
    """Build the site into a directory; return 0 if it has no fault."""
    source.mkdir()
    sources.lay(source)
    options = ["-q", "-b", "pages", "-W", "--keep-going", "-n", "-c", str(ROOT / "docsite")]
    doctrees = source.with_name("doctrees")
    refused = build_main([*options, "-d", str(doctrees), str(source), str(built)])
    # After a warning too, so that all faults are told at once.
    found = findings.of_site(built)
    write(f"{found.summary}\n")
    for fault in found.faults:
        write(f"{fault}\n")
    return 1 if refused or found.faults else 0


def replace(place: Path, built: Path) -> None:
    """Put a built site in the place of another: a reader meets the old one or the new one."""
    new = place.with_name(f"{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(built, new)
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


@contextmanager
def only_one_builds(place: Path) -> Iterator[None]:
    """Wait for another build of the same place."""
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest_of_sources() -> str:
    """Return a digest of what pages are made of: texts, theme, code, versions of packages."""
    whole = hashlib.sha256()
    for file in _sources():
        whole.update(str(file.relative_to(ROOT)).encode() + b"\0")
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _sources() -> Iterator[Path]:
    yield from (ROOT / name for name in (*sources.BESIDE, "requirements-up.txt", ".env.example"))
    for room in sorted(ROOT.iterdir()):
        if room.name in ("docs", "docsite"):
            yield from sorted(
                file for file in room.rglob("*") if file.is_file() and file.suffix != ".pyc"
            )
        elif room.is_dir() and not room.name.startswith((".", *APART)):
            yield from sorted(room.rglob("*.py"))


def _stamp_of(place: Path) -> str:
    stamp = place / STAMP
    return stamp.read_text() if stamp.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
