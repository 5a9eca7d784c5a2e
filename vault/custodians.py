"""The two custodians at the machine: each writes a component down, and types it at each opening."""

import getpass
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from core.keyring import KeyRingError, components, kek, token
from core.keyring.file import content_of, stored_in

TRIES = 3
# Clears the screen and what was scrolled out of it.
CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def add_argument(parser: ArgumentParser) -> None:
    """Let the components go to files, such as on a custodian's own medium."""
    parser.add_argument(
        "--component", action="append", type=Path, dest="components", default=[], metavar="FILE",
        help="a new file for a component, one for each custodian; else the terminal shows them",
    )  # fmt: skip


def make(installation: str, files: Sequence[Path], out: Any) -> kek.Wrapping:
    """Make a key-encryption key as KEK_PROVIDER says, and keep it where processes read it.

    :raises KeyRingError: a place cannot be written, or a custodian did not type their component.
    """
    owner = _owner_of(settings.KEYRING_FILE)
    if settings.KEK_PROVIDER == "file":
        return kek.in_file(installation, settings.KEK_FILE, owner=owner)
    if settings.KEK_PROVIDER == "pkcs11":
        return token.make(installation)
    components.require_memory(settings.KEK_FILE)
    texts = [components.new_component() for _ in range(components.CUSTODIANS)]
    made = components.wrapping_of(installation, texts)
    if files:
        _draft(files, texts)
    else:
        _show(texts, made.checks, out)
    kek.keep(settings.KEK_FILE, made.kek, owner=owner)
    return made


def hand_out(path: Path, files: Sequence[Path]) -> None:
    """Give the components' files their names, once the key ring is wrapped by them.

    :raises KeyRingError: they do not open it: a medium is gone, or another command wrote them.
    """
    if settings.KEK_PROVIDER != "components" or not files:
        return
    if not are_of(path, files):
        raise KeyRingError(
            f"{path} is wrapped by components that these files lack. While this host is open, run "
            "`manage.py keyring wrap` again."
        )
    for file in files:
        if (draft := _draft_of(file)).exists():
            draft.replace(file)
            kek.keep_directory(file.parent)


def are_of(path: Path, files: Sequence[Path]) -> bool:
    """Return whether a command that was broken off has wrapped a ring by these files' components.

    :raises KeyRingError: the key ring's file cannot be used.
    """
    if not files or not path.exists():
        return False
    stored = stored_in(path)
    places = [draft if (draft := _draft_of(file)).exists() else file for file in files]
    checks = [_check_in(place, stored, number) for number, place in enumerate(places, start=1)]
    return checks == stored.get("components")


@contextmanager
def earlier_key(path: Path, source: Path | None) -> Iterator[None]:
    """Let the key-encryption key in another file than KEK_FILE open a ring, in this process alone.

    So the ring loads, and the two operators are proved by it. One that KEK_FILE opens needs no
    other: a command that was broken off may have wrapped it.

    :raises KeyRingError: the other file lacks that key, or one of the files cannot be used.
    """
    if source is None or _opens(path):
        yield
        return
    stored = stored_in(path)
    installation, kek_id = str(stored.get("installation")), str(stored.get("kek"))
    with kek.lent(kek.find(source, installation, kek_id)):
        yield


def _opens(path: Path) -> bool:
    try:
        content_of(path)
    except KeyRingError:
        return False
    return True


def typed(question: str) -> str:
    """Return what a custodian types unseen, or the next line of a standard input of no terminal."""
    if sys.stdin.isatty():
        return getpass.getpass(question)
    line = sys.stdin.readline()
    if not line:
        raise KeyRingError("The standard input has ended, and has no component.")
    return line


def _draft(files: Sequence[Path], texts: Sequence[str]) -> None:
    """Write the components next to the places where they belong once they wrap the ring."""
    if len(set(files)) != len(texts) or any(file.exists() for file in files):
        raise KeyRingError(f"Give {len(texts)} files that do not exist yet: --component FILE each.")
    for file, text in zip(files, texts, strict=True):
        kek.write_private(_draft_of(file), f"{text}\n")


def _draft_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.unused")


def _check_in(file: Path, stored: Any, number: int) -> str | None:
    """Return the check value of the component in a file, if there is one."""
    try:
        component = bytes.fromhex(file.read_text("ascii"))
    except (OSError, ValueError):
        return None
    return components.check_of(str(stored.get("installation")), number, component)


def _show(texts: Sequence[str], checks: Sequence[str], out: Any) -> None:
    if not sys.stdin.isatty():
        raise KeyRingError(
            "The custodians read their components at a terminal; without one give "
            f"{len(texts)} files: --component FILE each."
        )
    for number, (text, check) in enumerate(zip(texts, checks, strict=True), start=1):
        typed(f"Custodian {number} alone at the screen, then Enter: ")
        out.write(f"Component {number} of {len(texts)}, check value {check}:\n\n    {text}\n\n")
        typed("Write it down on paper, then Enter: ")
        out.write(CLEAR)
        _require_written_down(number, text)
        out.write(CLEAR)


def _require_written_down(number: int, text: str) -> None:
    for _ in range(TRIES):
        if "".join(typed(f"Component {number} from the paper: ").split()) == text.replace(" ", ""):
            return
    raise KeyRingError(
        f"Component {number} was mistyped {TRIES} times: nothing was made. Destroy the papers."
    )


def _owner_of(path: Path) -> os.stat_result | None:
    return path.stat() if path.exists() else None
